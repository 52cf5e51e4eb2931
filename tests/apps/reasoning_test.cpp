#include "maglio/repl/reasoning.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace maglio::app {
namespace {

using Start = ReasoningSplitter::Start;

struct Split {
  std::string thought, said;
  bool operator==(const Split&) const = default;
};

Split split(const std::vector<std::string>& pieces, Start start = Start::unknown) {
  ReasoningSplitter splitter(start);
  Split all;
  const auto take = [&](const std::vector<ReasoningSplitter::Part>& parts) {
    for (const auto& part : parts) (part.is_reasoning ? all.thought : all.said) += part.text;
  };
  for (const std::string& piece : pieces) take(splitter.push(piece));
  take(splitter.flush());
  return all;
}

TEST(Reasoning, ThoughtEndsWithItsTag) {
  EXPECT_EQ(split({"<think>\nhm\n</think>\n\nParis"}),
            (Split{"<think>\nhm\n</think>", "\n\nParis"}));
  EXPECT_EQ(split({"Paris"}), (Split{"", "Paris"}));
}

TEST(Reasoning, AnyCutOfTheAnswerGivesTheSameParts) {
  const std::string answer = "\n<think>a <b </thin </think>Paris </think> <think>";
  const Split whole = split({answer});
  EXPECT_EQ(whole, (Split{"\n<think>a <b </thin </think>", "Paris </think> <think>"}));
  std::vector<std::string> letters;
  for (char c : answer) letters.emplace_back(1, c);
  EXPECT_EQ(split(letters), whole);
  for (size_t i = 0; i <= answer.size(); ++i) {
    EXPECT_EQ(split({answer.substr(0, i), answer.substr(i)}), whole) << i;
  }
}

TEST(Reasoning, OnlyATagThatOpensTheAnswerBeginsAThought) {
  EXPECT_EQ(split({"The tag <think>x</think>"}), (Split{"", "The tag <think>x</think>"}));
}

TEST(Reasoning, APromptMayHaveOpenedTheThought) {
  EXPECT_EQ(split({"hm</th", "ink>Paris"}, Start::inside), (Split{"hm</think>", "Paris"}));
}

TEST(Reasoning, WhatIsCutOffStaysWhatItWas) {
  EXPECT_EQ(split({"<think>hm</thi"}), (Split{"<think>hm</thi", ""}));
  EXPECT_EQ(split({" <thi"}), (Split{"", " <thi"}));
}

TEST(Reasoning, TextIsNotHeldBackWithoutNeed) {
  ReasoningSplitter splitter;
  EXPECT_EQ(splitter.push("P"), (std::vector<ReasoningSplitter::Part>{{false, "P"}}));
  ReasoningSplitter thinking(Start::inside);
  EXPECT_EQ(thinking.push("a<"), (std::vector<ReasoningSplitter::Part>{{true, "a"}}));
  EXPECT_EQ(thinking.push("b"), (std::vector<ReasoningSplitter::Part>{{true, "<b"}}));
}

}  // namespace
}  // namespace maglio::app
