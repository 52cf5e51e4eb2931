#include "chat/template.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/error.h"

namespace maglio::chat {
namespace {

Template chatml() {
  return Template(Family::chatml);
}
Template llama3() {
  return Template(Family::llama3);
}
Template gemma() {
  return Template(Family::gemma);
}
Template gemma4() {
  return Template(Family::gemma4);
}

std::string code_of(const Template& t, const std::vector<Message>& messages) {
  try {
    t.render_messages(messages, Thinking::on);
  } catch (const Error& error) {
    return error.code();
  }
  return "none";
}

// The template that SmolLM2-Instruct's file carries (Apache-2.0), with line feeds in its literals.
constexpr const char* kSmolLm2 =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ "
    "'<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
    "Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\n' }}{% endif %}";

// The head of Qwen3's (Apache-2.0): it opens a system turn, but has no words of its own.
constexpr const char* kQwen3 =
    "{%- if tools %}\n    {{- '<|im_start|>system\\n' }}\n    {%- if messages[0].role == 'system' "
    "%}\n        {{- messages[0].content + '\\n\\n' }}\n    {%- endif %}\n    {{- \"# "
    "Tools\\n\\n...<|im_end|>\\n\" }}\n{%- else %}\n    {%- if messages[0].role == 'system' %}\n   "
    "     {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n    {%- endif "
    "%}\n{%- endif %}";

TEST(Template, IsDetectedByTheMarkerThatOpensATurn) {
  EXPECT_EQ(Template::detect(kQwen3)->family(), Family::chatml);
  EXPECT_EQ(Template::detect("{{ '<|start_header_id|>' + role }}")->family(), Family::llama3);
  EXPECT_EQ(Template::detect("{{ '<start_of_turn>' + role }}")->family(), Family::gemma);
  EXPECT_EQ(Template::detect("{{ '<|turn>' + role }}")->family(), Family::gemma4);
  EXPECT_FALSE(Template::detect("[INST] {{ content }} [/INST]"));
  EXPECT_FALSE(Template::detect(""));
}

TEST(Template, StopMarkersAreTheFamilies) {
  EXPECT_EQ(chatml().stop_marker(), "<|im_end|>");
  EXPECT_EQ(llama3().stop_marker(), "<|eot_id|>");
  EXPECT_EQ(gemma().stop_marker(), "<end_of_turn>");
  EXPECT_EQ(gemma4().stop_marker(), "<turn|>");
}

TEST(Template, DefaultSystemMessageIsTheTemplatesOwnLiteral) {
  EXPECT_EQ(Template::detect(kSmolLm2)->default_system(),
            "You are a helpful AI assistant named SmolLM, trained by Hugging Face");
  EXPECT_FALSE(Template::detect(kQwen3)->default_system());
  EXPECT_EQ(
      Template::detect("{{- '<|im_start|>system\\nYou are \\'Q\\'.\\nBe kind.<|im_end|>\\n' }}")
          ->default_system(),
      "You are 'Q'.\nBe kind.");
  EXPECT_EQ(Template::detect("{% if x %}<|im_start|>system\nPlain.<|im_end|>\n{% endif %}")
                ->default_system(),
            "Plain.");
  EXPECT_FALSE(Template::detect("<|im_start|>system\n{{ content }}<|im_end|>")->default_system());
}

TEST(Template, ChatMlTurnByTurn) {
  EXPECT_EQ(chatml().render_turn({.user = "Hi"}).text(),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chatml().render_turn({.user = "Hi", .system = "S"}).text(),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(chatml().render_turn({.user = "Hi", .system = ""}).text(),
            chatml().render_turn({.user = "Hi"}).text());
}

TEST(Template, LaterTurnsFirstCloseTheOneBefore) {
  const Turn later{.user = "B", .system = "S", .first = false};
  EXPECT_EQ(chatml().render_turn(later).text(),
            "<|im_end|>\n<|im_start|>user\nB<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(llama3().render_turn(later).text(),
            "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nB<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(gemma().render_turn(later).text(),
            "<end_of_turn>\n<start_of_turn>user\nB<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(gemma4().render_turn(later).text(), "<turn|>\n<|turn>user\nB<turn|>\n<|turn>model\n");
}

TEST(Template, SwitchedOffThinkingIsAnEmptyThought_B40) {
  EXPECT_EQ(chatml().render_turn({.user = "Hi", .thinking = Thinking::off}).text(),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const std::vector<Message> hi = {{Role::user, "Hi"}};
  EXPECT_EQ(chatml().render_messages(hi, Thinking::on).text(),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chatml().render_messages(hi, Thinking::off).text(),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(gemma4().render_messages(hi, Thinking::off).text(),
            "<|turn>user\nHi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>");
  EXPECT_EQ(llama3().render_messages(hi, Thinking::off).text(),
            llama3().render_messages(hi, Thinking::on).text());
}

TEST(Template, Llama3AndGemmaStripWhatIsSaid) {
  EXPECT_EQ(llama3().render_turn({.user = " Hi\n", .system = "S "}).text(),
            "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(gemma().render_turn({.user = " Hi\n", .system = "S "}).text(),
            "<start_of_turn>user\nS\n\nHi<end_of_turn>\n<start_of_turn>model\n");
  EXPECT_EQ(gemma4().render_turn({.user = " Hi\n", .system = "S "}).text(),
            "<|turn>system\nS<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n");
  EXPECT_EQ(chatml().render_turn({.user = " Hi\n"}).text(),
            "<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Template, WholeHistoryEqualsTurnByTurn) {
  const std::vector<Message> history = {
      {Role::system, "S"}, {Role::user, "A"}, {Role::assistant, "B"}, {Role::user, "C"}};
  for (const Template& t : {chatml(), llama3(), gemma(), gemma4()}) {
    const std::string turns = t.render_turn({.user = "A", .system = "S"}).text() + "B" +
                              t.render_turn({.user = "C", .first = false}).text();
    EXPECT_EQ(t.render_messages(history, Thinking::on).text(), turns);
  }
}

TEST(Template, DefaultSystemOpensAHistoryThatHasNone) {
  const Template smol = *Template::detect(kSmolLm2);
  EXPECT_TRUE(smol.render_messages({{{Role::user, "A"}}}, Thinking::on)
                  .text()
                  .starts_with("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, "
                               "trained by Hugging Face<|im_end|>\n<|im_start|>user\nA<|im_end|>"));
  EXPECT_TRUE(smol.render_messages({{{Role::system, "S"}, {Role::user, "A"}}}, Thinking::on)
                  .text()
                  .starts_with("<|im_start|>system\nS<|im_end|>\n<|im_start|>user"));
}

TEST(Template, ThoughtsOfEarlierAnswersAreLeftOut_B42) {
  const std::vector<Message> history = {
      {Role::user, "A"}, {Role::assistant, "<think>\nx\n</think>\n\nB"}, {Role::user, "C"}};
  EXPECT_EQ(chatml().render_messages(history, Thinking::on).text(),
            "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
            "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Template, AnswerAtTheEndIsContinued_B51) {
  const std::vector<Message> history = {{Role::user, "A"}, {Role::assistant, "The answer is"}};
  for (Thinking thinking : {Thinking::on, Thinking::off}) {
    EXPECT_EQ(chatml().render_messages(history, thinking).text(),
              "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nThe answer is");
  }
}

TEST(Template, RefusesWhatItHasNoFormFor) {
  EXPECT_EQ(code_of(chatml(), {}), "EmptyMessages");
  EXPECT_EQ(code_of(chatml(), {{Role::user, "A"}, {Role::tool, "1"}}), "ToolMessage");
  EXPECT_EQ(code_of(gemma(), {{Role::user, "A"}, {Role::system, "S"}}), "SystemMidConversation");
  EXPECT_EQ(code_of(chatml(), {{Role::user, "A"}, {Role::system, "S"}}), "none");
  EXPECT_THROW(role_from_string("usre"), Error);
  EXPECT_EQ(role_from_string("assistant"), Role::assistant);
}

TEST(Template, WhatIsSaidIsNeverAMarker) {
  const Rendered r = chatml().render_turn({.user = "<|im_end|>", .system = "<|im_start|>"});
  for (const Segment& s : r.segments()) {
    if (s.kind == Segment::Kind::said) {
      EXPECT_TRUE(s.text == "<|im_end|>" || s.text == "<|im_start|>");
    } else if (s.kind == Segment::Kind::words) {
      EXPECT_EQ(s.text.find("<|"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace maglio::chat
