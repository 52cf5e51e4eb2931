#include "chat/transcript.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/scripted_chat.h"

namespace maglio::chat {
namespace {

using namespace test::scripted;

using Runs = std::vector<Run>;

constexpr TokenId kX = 1000, kY = 1001;  // markers

// Bytes, and one merge: "in" is one token.
Ids encode(std::string_view text) {
  Ids ids;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("in")) {
      ids.push_back(500);
      ++i;
    } else {
      ids.push_back(text[i]);
    }
  }
  return ids;
}

// A prompt "a", then an answer of ids that its text would not give.
Transcript with_answer() {
  Transcript held;
  held.append({{"a", kX}, {"b"}}, encode);
  for (TokenId id : bytes("ink")) held.tokens().push_back(id);
  held.tell_rest(3, "ink");
  return held;
}

TEST(Transcript, EncodesRunByRun) {
  EXPECT_EQ(with_answer().tokens(), (Ids{'a', kX, 'b', 'i', 'n', 'k'}));
  EXPECT_EQ(with_answer().told(), 6u);
}

TEST(Transcript, RunsThatSayTheSameKeepTheirIds) {
  const Transcript next = with_answer().retold(Runs{{"a", kX}, {"bink", kY}, {"in"}}, encode);
  EXPECT_EQ(next.tokens(), (Ids{'a', kX, 'b', 'i', 'n', 'k', kY, 500}));
  EXPECT_EQ(next.told(), 8u);
}

TEST(Transcript, FromTheFirstDifferenceOnTextIsEncodedAnew) {
  const Transcript held = with_answer();
  const Transcript longer = held.retold(Runs{{"a", kX}, {"binks", kY}}, encode);
  EXPECT_EQ(longer.tokens(), (Ids{'a', kX, 'b', 500, 'k', 's', kY}));
  EXPECT_EQ(common_prefix(held.tokens(), longer.tokens()), 3u);
  const Transcript other = held.retold(Runs{{"a", kY}, {"bink", kY}}, encode);
  EXPECT_EQ(other.tokens(), (Ids{'a', kY, 'b', 500, 'k', kY}));
  const Transcript shorter = held.retold(Runs{{"a", kX}, {"b"}}, encode);
  EXPECT_EQ(shorter.tokens(), (Ids{'a', kX, 'b'}));
}

TEST(Transcript, WhatIsBehindATokenOfUnknownTextIsNotTold) {
  Transcript held(Ids{'a', kX});
  held.append({{"in"}}, encode);
  EXPECT_EQ(held.told(), 0u);
  EXPECT_EQ(held.tokens(), (Ids{'a', kX, 500}));
  const Transcript next = held.retold(Runs{{"a", kX}, {"in"}}, encode);
  EXPECT_EQ(next.tokens(), held.tokens());
  EXPECT_EQ(next.told(), 3u);
}

TEST(Transcript, TruncatedInARunForgetsTheRun) {
  Transcript held = with_answer();
  held.truncate(5);
  EXPECT_EQ(held.tokens().size(), 5u);
  EXPECT_EQ(held.told(), 2u);
  held.truncate(9);
  EXPECT_EQ(held.tokens().size(), 5u);
}

TEST(Transcript, RunsEndAtControlTokensAndNotAtThoughts) {
  const Tokenizer tokenizer = kVocabulary.tokenizer();
  const auto runs = cut_into_runs(tokenizer, Rendered()
                                                 .marker("<|im_start|>")
                                                 .words("assistant\n")
                                                 .marker("<think>")
                                                 .said("<|im_end|>")
                                                 .marker("<|im_end|>")
                                                 .marker("<|unknown|>"));
  const Runs expected = {{"", kStart}, {"assistant\n<think><|im_end|>", kEnd}, {"<|unknown|>"}};
  EXPECT_EQ(runs, expected);
}

// Whatever is said, the ids are those of encode (rendered.h).
TEST(Transcript, IdsOfFreshPromptsAreThoseOfEncode) {
  const Tokenizer tokenizer = kVocabulary.tokenizer();
  for (const char* said : {"Hi", "\n\nHi\n", "", "<|im_end|>", "a <think> b</think>\n", ">"}) {
    for (Thinking thinking : {Thinking::on, Thinking::off}) {
      for (const auto specials : {Tokenizer::Specials::plain, Tokenizer::Specials::parse}) {
        const std::vector<Message> history = {
            {Role::system, said}, {Role::user, said}, {Role::assistant, said}, {Role::user, "x"}};
        const Rendered prompt = Template(Family::chatml).render_messages(history, thinking);
        Transcript fresh;
        fresh.append(cut_into_runs(tokenizer, prompt), [&](std::string_view text) {
          return tokenizer.encode_with(text, {.specials = specials});
        });
        EXPECT_EQ(fresh.tokens(),
                  encode(tokenizer, prompt, specials, Tokenizer::Normalization::none))
            << prompt.text();
      }
    }
  }
}

}  // namespace
}  // namespace maglio::chat
