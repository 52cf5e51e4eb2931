#include "chat/chat_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "chat/chat_template.h"
#include "chat/json_value.h"
#include "chat/marked_text.h"
#include "maglio/error.h"
#include "support/byte_vocabulary.h"

namespace maglio::chat {
namespace {

// Code and JSON pointer of what is refused.
std::pair<std::string, std::string> refused(std::string_view body) {
  try {
    parse_chat_request(body);
  } catch (const Error& error) {
    return {error.code(), error.message().substr(0, error.message().find(':'))};
  }
  return {"none", ""};
}

TEST(ChatRequest, OddShapesAreRefusedByTheirPointer_B53) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(refused(R"({"messages": []})"), (Refusal{"EmptyMessages", "/messages"}));
  EXPECT_EQ(refused(R"({})"), (Refusal{"BadChatRequest", "/messages"}));
  EXPECT_EQ(refused(R"({"messages": "hi"})"), (Refusal{"BadChatRequest", "/messages"}));
  EXPECT_EQ(refused(R"({"messages": [1]})"), (Refusal{"BadChatRequest", "/messages/0"}));
  EXPECT_EQ(refused(R"({"messages": [{}]})"), (Refusal{"BadChatRequest", "/messages/0/role"}));
  EXPECT_EQ(refused(R"({"messages": [{"role": "user"}]})"),
            (Refusal{"BadChatRequest", "/messages/0/content"}));
  EXPECT_EQ(refused(R"({"messages": [{"role": "assistant", "content": null}]})"),
            (Refusal{"BadChatRequest", "/messages/0/content"}));
  EXPECT_EQ(refused("[1]"), (Refusal{"BadChatRequest", "/"}));
  EXPECT_EQ(refused("{").first, "BadJson");
  EXPECT_EQ(refused("{} x").first, "BadJson");
  EXPECT_EQ(refused("").first, "BadJson");
  EXPECT_EQ(refused("{\"messages\": \"\xff\"}").first, "BadJson");
}

TEST(ChatRequest, WholeNumbersBeyond128BitsAreRefusedAndNotRounded) {
  const auto with = [](const std::string& number) {
    return R"({"messages": [{"role": "user", "content": "a"}], "chat_template_kwargs": {"x": )" +
           number + "}}";
  };
  const std::string most = "170141183460469231731687303715884105727";  // 2^127 - 1
  EXPECT_NO_THROW(parse_chat_request(with(most)));
  EXPECT_NO_THROW(parse_chat_request(with("1e999")));  // Python's infinity
  EXPECT_EQ(refused(with("9" + most)).first, "BadJson");
  EXPECT_EQ(refused(with("-" + std::string(400, '9'))).first, "BadJson");
}

TEST(ChatRequest, UnknownRolesAndPartsAreRefused_B49) {
  using Refusal = std::pair<std::string, std::string>;
  EXPECT_EQ(
      refused(
          R"({"messages": [{"role": "user", "content": "x"}, {"role": "usre", "content": "x"}]})"),
      (Refusal{"UnknownRole", "/messages/1/role"}));
  EXPECT_EQ(refused(R"({"messages": [{"role": "", "content": "x"}]})").first, "UnknownRole");
  EXPECT_EQ(refused(R"({"messages": [{"role": "developer", "content": "x"}]})").first, "none");
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"},
                       {"type": "image_url", "image_url": {"url": "y"}}]}]})"),
            (Refusal{"UnsupportedContent", "/messages/0/content/1/type"}));
  EXPECT_EQ(refused(R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})"),
            (Refusal{"BadChatRequest", "/messages/0/content/0/text"}));
}

TEST(ChatRequest, WrongTypesOfOtherFieldsAreRefused) {
  using Refusal = std::pair<std::string, std::string>;
  const auto with = [](const std::string& field) {
    return refused(R"({"messages": [{"role": "user", "content": "x"}], )" + field + "}");
  };
  EXPECT_EQ(with(R"("tools": {})"), (Refusal{"BadChatRequest", "/tools"}));
  EXPECT_EQ(with(R"("tools": [{"type": "function"}])"),
            (Refusal{"BadChatRequest", "/tools/0/function"}));
  EXPECT_EQ(with(R"("tools": [{"function": {"name": 1}}])"),
            (Refusal{"BadChatRequest", "/tools/0/function/name"}));
  EXPECT_EQ(with(R"("add_generation_prompt": "yes")"),
            (Refusal{"BadChatRequest", "/add_generation_prompt"}));
  EXPECT_EQ(with(R"("chat_template_kwargs": [])"),
            (Refusal{"BadChatRequest", "/chat_template_kwargs"}));
  for (const char* name : {"messages", "tools", "raise_exception", "bos_token", "namespace"}) {
    EXPECT_EQ(with(R"("chat_template_kwargs": {")" + std::string(name) + R"(": 1})").first,
              "ReservedTemplateArgument");
  }
  EXPECT_EQ(with(R"("temperature": "hot", "tools": null, "add_generation_prompt": null)").first,
            "none");
  EXPECT_EQ(
      refused(R"({"messages": [{"role": "assistant", "content": null, "tool_calls": [{"function":
                       {"name": "f", "arguments": 1}}]}]})"),
      (Refusal{"BadChatRequest", "/messages/0/tool_calls/0/function/arguments"}));
}

TEST(ChatRequest, NullIsAsGoodAsAbsent_B91) {
  const ChatRequest plain = parse_chat_request(R"({"messages": [{"role": "user", "content": "x"},
      {"role": "assistant", "content": "y"}, {"role": "user", "content": "z"}]})");
  const ChatRequest nulls = parse_chat_request(R"({"messages": [
      {"role": "user", "content": "x", "name": null},
      {"role": "assistant", "content": "y", "tool_calls": null, "reasoning_content": null,
       "refusal": null, "tool_call_id": null},
      {"role": "user", "content": "z"}],
      "tools": null, "tool_choice": null, "add_generation_prompt": null,
      "chat_template_kwargs": null, "temperature": null, "top_p": null, "max_tokens": null,
      "stop": null, "seed": null, "response_format": null, "logit_bias": null,
      "stream_options": null, "n": null, "user": null})");
  EXPECT_EQ(nulls.tools.is_none(), plain.tools.is_none());
  EXPECT_EQ(nulls.add_generation_prompt, plain.add_generation_prompt);
  EXPECT_TRUE(nulls.kwargs.entries().empty());
  // A template that shows every field that it is given.
  const ChatTemplate shows = ChatTemplate::from_jinja(
      {"{{ messages | tojson }}{{ tools is defined and tools }}{{ add_generation_prompt }}", {}},
      test::ByteVocabulary{}.tokenizer());
  EXPECT_EQ(shows.render(nulls).text(), shows.render(plain).text());
}

TEST(ChatRequest, RolesAreTrustedAndEverythingElseIsSaid) {
  const ChatRequest request =
      parse_chat_request(R"({"messages": [{"role": "user", "content": "x", "name": "n"}]})");
  const jinja::Dict& message = *request.messages[0].as_dict();
  EXPECT_EQ(message.find("role")->as_string()->origin(0), jinja::Origin::trusted);
  EXPECT_EQ(message.find("content")->as_string()->origin(0), jinja::Origin::said);
  EXPECT_EQ(message.find("name")->as_string()->origin(0), jinja::Origin::said);
}

TEST(JsonValue, NumbersAreReadAsPythonReadsThem) {
  const jinja::Value v = parse_json(
      "[1, 1.0, 1e3, -0, 0.1, 18446744073709551615, 1.7976931348623157e308, 5e-324, 1e400]");
  const auto& items = v.as_sequence()->items;
  EXPECT_EQ(items[0].type_name(), "int");
  EXPECT_EQ(items[1].type_name(), "float");
  EXPECT_EQ(*items[2].as_real(), 1000.0);
  EXPECT_EQ(items[3].type_name(), "int");
  EXPECT_EQ(*items[4].as_real(), 0.1);
  EXPECT_EQ(*items[5].as_integer(), static_cast<jinja::Int>(18446744073709551615ull));
  EXPECT_EQ(*items[6].as_real(), 1.7976931348623157e308);
  EXPECT_EQ(*items[7].as_real(), 5e-324);
}

TEST(MarkedText, OnlyATokenThatIsAllTrustedIsAMarker) {
  const test::ByteVocabulary vocabulary{{}, {"<|a|>", "<|a|>b"}, {}, {}};
  const SpecialTokens controls = control_tokens(vocabulary.tokenizer());
  const auto text = [](std::initializer_list<std::pair<const char*, jinja::Origin>> parts) {
    jinja::Text all;
    for (const auto& [bytes, origin] : parts) all.append(bytes, origin);
    return all;
  };
  constexpr auto kTrusted = jinja::Origin::trusted, kSaid = jinja::Origin::said;
  EXPECT_EQ(rendered_from(text({{"x<|a|>y", kTrusted}}), controls).segments(),
            Rendered().words("x").marker("<|a|>").words("y").segments());
  EXPECT_EQ(rendered_from(text({{"<|a|>b", kTrusted}}), controls).segments(),
            Rendered().marker("<|a|>b").segments());
  EXPECT_EQ(rendered_from(text({{"<|a|>", kTrusted}, {"b", kSaid}}), controls).segments(),
            Rendered().marker("<|a|>").said("b").segments());
  EXPECT_EQ(
      rendered_from(text({{"<|", kTrusted}, {"a", kSaid}, {"|>", kTrusted}}), controls).segments(),
      Rendered().words("<|").said("a").words("|>").segments());
  EXPECT_EQ(rendered_from(text({{"<|a|>", kSaid}}), controls).segments(),
            Rendered().said("<|a|>").segments());
}

class SmallTemplate : public testing::Test {
 protected:
  ChatTemplate of(const std::string& source, const std::string& tool_use = {}) const {
    return ChatTemplate::from_jinja({source, tool_use}, vocabulary_.tokenizer());
  }
  static ChatRequest ask(std::string_view body) { return parse_chat_request(body); }

  test::ByteVocabulary vocabulary_{{}, {"<s>", "</s>", "<|user|>"}, "<s>", "</s>"};
};

TEST_F(SmallTemplate, WritesBosAndRolesAsControlTokens) {
  const ChatTemplate phi =
      of("{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + eos_token "
         "}}{% endfor %}");
  EXPECT_EQ(
      phi.render(ask(R"({"messages": [{"role": "user", "content": "<|user|>"}]})")).segments(),
      Rendered().marker("<s>").marker("<|user|>").said("<|user|>").marker("</s>").segments());
  EXPECT_EQ(phi.stop_marker(), "</s>");
  EXPECT_FALSE(phi.opens_with_bos());
}

TEST_F(SmallTemplate, HasAnotherOneForTools) {
  const ChatTemplate two = of("plain", "with {{ tools[0].function.name }}");
  EXPECT_EQ(two.render(ask(R"({"messages": [{"role": "user", "content": "x"}]})")).text(), "plain");
  EXPECT_EQ(two.render(ask(R"({"messages": [{"role": "user", "content": "x"}],
                            "tools": [{"function": {"name": "f"}}]})"))
                .text(),
            "with f");
}

TEST_F(SmallTemplate, GetsContentAsPartsWhereItWantsParts) {
  const ChatTemplate parts =
      of("{% for m in messages %}{% for p in m.content %}{{ p.text }};{% endfor %}{% endfor %}");
  EXPECT_EQ(parts.render(ask(R"({"messages": [{"role": "user", "content": "Hi"}]})")).text(),
            "Hi;");
  EXPECT_EQ(
      parts
          .render(ask(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "H"},
                              {"type": "text", "text": "i"}]}]})"))
          .text(),
      "Hi;");
}

TEST_F(SmallTemplate, KnowsWhetherItHasASystemMessageOfItsOwn) {
  EXPECT_TRUE(of("{% if messages[0].role != 'system' %}[S]You help.{% endif %}{% for m in messages "
                 "%}[{{ m.role }}]{{ m.content }}{% endfor %}")
                  .has_own_system());
  EXPECT_FALSE(of("{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}")
                   .has_own_system());
}

TEST_F(SmallTemplate, OpensNoThoughtBeforeAnAnswerThatIsContinued_B51) {
  const ChatTemplate thinker =
      of("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if "
         "add_generation_prompt %}[assistant]<think>\n{% endif %}");
  EXPECT_EQ(thinker
                .render(ask(R"({"messages": [{"role": "user", "content": "A"},
                                {"role": "assistant", "content": "The answer is"}]})"))
                .text(),
            "[user]A[assistant]The answer is");
  EXPECT_EQ(thinker
                .render(ask(R"({"messages": [{"role": "user", "content": "A"},
                                {"role": "assistant", "content": "B"}], "add_generation_prompt": false})"))
                .text(),
            "[user]A[assistant]B");
}

TEST_F(SmallTemplate, RefusalsOfTheTemplateAreErrors) {
  try {
    of("{{ raise_exception('no ' + messages[0].role) }}")
        .render(ask(R"({"messages": [{"role": "user", "content": "x"}]})"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "TemplateRefused");
    EXPECT_EQ(error.kind(), ErrorKind::bad_request);
  }
}

}  // namespace
}  // namespace maglio::chat
