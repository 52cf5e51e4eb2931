// The templates that well-known models carry, on requests as clients send them. They are fetched
// (tools/fetch_test_data.py), never part of the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/byte_vocabulary.h"

namespace maglio::chat {
namespace {

namespace fs = std::filesystem;

const fs::path kTemplates = MAGLIO_SOURCE_DIR "/models/templates";
const fs::path kVocabularies = MAGLIO_SOURCE_DIR "/models/vocab";
constexpr std::time_t kNow = 1753700000;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

#define SKIP_WITHOUT(path) \
  if (!fs::exists(path))   \
  GTEST_SKIP() << "SKIPPED: " << (path) << " is not there; tools/fetch_test_data.py fetches it"

class Qwen3Template : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT(kTemplates / "Qwen-Qwen3-0.6B.jinja");
    source_ = read(kTemplates / "Qwen-Qwen3-0.6B.jinja");
  }

  ChatTemplate chat_template() const {
    const test::ByteVocabulary vocabulary{{}, {"<|im_start|>", "<|im_end|>"}, {}, "<|im_end|>"};
    return ChatTemplate::from_jinja({source_, {}}, vocabulary.tokenizer());
  }
  std::string rendered(std::string_view request) const {
    return chat_template().render(parse_chat_request(request), kNow).text();
  }

  std::string source_;
};

TEST_F(Qwen3Template, PlainPromptAndTheThinkingSwitch_B40) {
  EXPECT_EQ(rendered(R"({"messages": [{"role": "user", "content": "Hi"}]})"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(rendered(R"({"messages": [{"role": "user", "content": "Hi"}],
                         "chat_template_kwargs": {"enable_thinking": false}})"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const std::vector<Message> hi = {{Role::user, "Hi"}};
  EXPECT_EQ(chat_template().render(chat_request(hi, Thinking::off)).text(),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST_F(Qwen3Template, ThinkingIsRemovedFromEarlierTurns_B42) {
  const std::string expected =
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n<|im_start|>user\nC<|im_"
      "end|>\n"
      "<|im_start|>assistant\n";
  EXPECT_EQ(rendered(R"({"messages": [{"role": "user", "content": "A"},
      {"role": "assistant", "content": "<think>\nx\n</think>\n\nB"}, {"role": "user", "content": "C"}]})"),
            expected);
  EXPECT_EQ(rendered(R"({"messages": [{"role": "user", "content": "A"},
      {"role": "assistant", "reasoning_content": "x", "content": "B"}, {"role": "user", "content": "C"}]})"),
            expected);
}

TEST_F(Qwen3Template, NullContentBesideToolCalls_B44) {
  const auto with_content = [&](const std::string& content) {
    return rendered(R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", )" +
                    content +
                    R"("tool_calls": [{"id": "1", "type": "function", "function": {"name": "f",
                    "arguments": "{\"b\":1}"}}]}, {"role": "tool", "tool_call_id": "1", "content": "1"}]})");
  };
  const std::string with_null = with_content(R"("content": null, )");
  EXPECT_EQ(with_null,
            "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\": \"f\", "
            "\"arguments\": "
            "{\"b\":1}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</"
            "tool_response><|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(with_content(""), with_null);
  EXPECT_EQ(with_content(R"("content": "", )"), with_null);
}

TEST_F(Qwen3Template, NeighbouringToolResultsShareOneTurn_B45) {
  const auto with_thought = [&](const std::string& thought) {
    return rendered(
        R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "content": "", )" +
        thought + R"("tool_calls": [{"type": "function", "function": {"name": "f", "arguments":
                    {"b":1,"a":"é/<'"}}}]}, {"role": "tool", "content": "1"}, {"role": "tool", "content": "2"}]})");
  };
  const std::string rest =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": "
      "\"é/<'\"}}\n</tool_call><|im_end|>\n"
      "<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</"
      "tool_response><|im_end|>\n"
      "<|im_start|>assistant\n";
  EXPECT_EQ(with_thought(""), "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n" + rest);
  EXPECT_EQ(
      with_thought(R"("reasoning_content": "why", )"),
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n<think>\nwhy\n</think>\n\n" + rest);
}

TEST_F(Qwen3Template, ContentPartsEqualThePlainString_B47) {
  for (const char* role : {"system", "user", "assistant"}) {
    const auto with = [&](const std::string& content) {
      return rendered(R"({"messages": [{"role": ")" + std::string(role) + R"(", "content": )" +
                      content + R"(}, {"role": "user", "content": "x"}]})");
    };
    EXPECT_EQ(with(R"([{"type": "text", "text": "Hi"}])"), with(R"("Hi")"));
    EXPECT_EQ(with(R"([{"type": "text", "text": "H"}, {"type": "text", "text": "i"}])"),
              with(R"("Hi")"));
  }
  EXPECT_EQ(
      rendered(R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "content":
      [{"type": "text", "text": "The answer"}, {"type": "text", "text": " is"}]}]})"),
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nThe answer is");
}

TEST_F(Qwen3Template, ToolsAreWrittenAsPythonsJson_B48) {
  const std::string prompt =
      rendered(R"({"messages": [{"role": "system", "content": "S"}, {"role": "user",
      "content": "x"}], "tools": [{"type": "function", "function": {"name": "f", "description": "it's <b>/é",
      "parameters": {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}}}]})");
  EXPECT_TRUE(prompt.starts_with("<|im_start|>system\nS\n\n# Tools\n\n")) << prompt;
  EXPECT_NE(
      prompt.find(
          "\n{\"type\": \"function\", \"function\": {\"name\": \"f\", \"description\": \"it's "
          "<b>/é\", \"parameters\": {\"type\": \"object\", \"properties\": {\"z\": {\"type\": "
          "\"string\"}, \"a\": {\"type\": \"integer\"}}}}}\n"),
      std::string::npos)
      << prompt;
}

TEST_F(Qwen3Template, DeveloperIsSystemAndTheAnswerIsContinued_B49_B51) {
  EXPECT_EQ(
      rendered(
          R"({"messages": [{"role": "developer", "content": "S"}, {"role": "user", "content": "A"}]})"),
      rendered(
          R"({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "A"}]})"));
  EXPECT_EQ(
      rendered(
          R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "content": "The answer "}]})"),
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nThe answer ");
  EXPECT_EQ(chat_template().stop_marker(), "<|im_end|>");
  EXPECT_FALSE(chat_template().has_own_system());
}

// Arguments come as text or as an object; a template that takes only one of them gets that one.
TEST(RealTemplates, TakeArgumentsInEitherForm) {
  const auto rendered = [](const char* name, const std::string& arguments) {
    const test::ByteVocabulary vocabulary;
    return ChatTemplate::from_jinja({read(kTemplates / name), {}}, vocabulary.tokenizer())
        .render(
            parse_chat_request(
                R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "content": null,
                    "tool_calls": [{"id": "call_0001", "type": "function", "function": {"name": "f", "arguments": )" +
                arguments +
                R"(}}]}, {"role": "tool", "tool_call_id": "call_0001", "content": "1"}],
                "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters":
                {"type": "object", "properties": {"b": {"type": "integer"}}}}}]})"),
            kNow)
        .text();
  };
  const char* const as_text = R"("{\"b\": 1}")";
  const char* const as_object = R"({"b": 1})";
  for (const char* name :
       {"Qwen3-Coder.jinja", "GLM-4.6.jinja", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja",
        "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja", "MiniMax-M2.jinja"}) {
    SKIP_WITHOUT(kTemplates / name);
    EXPECT_EQ(rendered(name, as_text), rendered(name, as_object)) << name;
    EXPECT_EQ(rendered(name, as_text).find("\\\""), std::string::npos) << name << ": quoted twice";
  }
}

// Everybody says `said` wherever a request has room for words.
ChatRequest request_saying(const std::string& said, const std::string& user_role = "user") {
  std::string body = R"({"messages": [{"role": "system", "content": "@"}, {"role": ")" + user_role +
                     R"(", "content": "@ x"},
      {"role": "assistant", "content": "@", "reasoning_content": "@", "tool_calls": [{"id": "call_0001",
      "type": "function", "function": {"name": "f@", "arguments": {"k@": "@"}}}]},
      {"role": "tool", "tool_call_id": "call_0001", "name": "f", "content": "@"},
      {"role": "assistant", "content": "@"}, {"role": "user", "content": "@"}],
      "tools": [{"type": "function", "function": {"name": "f@", "description": "@", "parameters": {
      "type": "object", "properties": {"k@": {"type": "string", "description": "@"}}}}}],
      "chat_template_kwargs": {"date_string": "@", "model_identity": "@"}})";
  for (size_t at = 0; (at = body.find('@', at)) != body.npos; at += said.size()) {
    body.replace(at, 1, said);
  }
  return parse_chat_request(body);
}
ChatRequest short_request_saying(const std::string& said) {
  const std::vector<Message> messages = {
      {Role::user, said}, {Role::assistant, said}, {Role::user, said}};
  return chat_request(messages, Thinking::on);
}

// The control tokens of a prompt, or nothing where the template refuses the request.
std::optional<std::vector<TokenId>> controls_of(const ChatTemplate& chat_template,
                                                const Tokenizer& tokenizer,
                                                const ChatRequest& request) {
  try {
    std::vector<TokenId> controls;
    for (TokenId id :
         encode_prompt(tokenizer, chat_template, chat_template.render(request, kNow))) {
      if (tokenizer.is_control(id)) controls.push_back(id);
    }
    return controls;
  } catch (const Error& error) {
    return std::nullopt;
  }
}

// What a user, a system prompt, a tool, its result or an answer says never becomes a control token,
// whatever the template does with it: the prompt has the control tokens that it has when a harmless
// word is said instead.
void expect_nobody_says_control_tokens(const char* vocabulary) {
  SKIP_WITHOUT(kTemplates);
  SKIP_WITHOUT(kVocabularies / vocabulary);
  const auto tokenizer =
      Tokenizer::from_gguf(gguf::File::open(kVocabularies / vocabulary).metadata());
  std::string names;
  for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (tokenizer.is_control(id)) names += tokenizer.piece(id);
  }
  ASSERT_FALSE(names.empty());
  size_t n_checked = 0, n_markers = 0;
  for (const auto& entry : fs::directory_iterator(kTemplates)) {
    std::optional<ChatTemplate> chat_template;
    try {
      chat_template = ChatTemplate::from_jinja({read(entry.path()), {}}, tokenizer);
    } catch (const Error& error) {
      continue;  // two of them speak of filters that the reference lacks, too
    }
    for (auto* make : {+[](const std::string& said) { return request_saying(said); },
                       +[](const std::string& said) { return short_request_saying(said); }}) {
      const auto harmless = controls_of(*chat_template, tokenizer, make("word"));
      const auto hostile = controls_of(*chat_template, tokenizer, make(names));
      EXPECT_EQ(harmless, hostile) << entry.path();
      if (!harmless || !hostile) continue;
      ++n_checked;
      n_markers += harmless->size();
    }
  }
  EXPECT_GE(n_checked, 80u);
  EXPECT_GT(n_markers, n_checked / 4) << "templates write control tokens themselves";
}

TEST(RealTemplates, NobodySaysControlTokensOfQwen3) {
  expect_nobody_says_control_tokens("qwen3.gguf");
}

TEST(RealTemplates, NobodySaysControlTokensOfLlama3) {
  expect_nobody_says_control_tokens("llama-bpe.gguf");
}

}  // namespace
}  // namespace maglio::chat
