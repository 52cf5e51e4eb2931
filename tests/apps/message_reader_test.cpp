#include "maglio/repl/message_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace maglio::app {
namespace {

using Line = LineReader::Line;
using End = LineReader::End;

// What comes of these lines, and how many of them were read.
struct Outcome {
  Line message;
  size_t n_read = 0;
  std::string prompts = {};
};

Outcome read(std::vector<Line> lines) {
  lines.push_back({"", End::end_of_file});
  Outcome outcome;
  outcome.message = read_message([&](const char* prompt) {
    outcome.prompts += prompt;
    return lines.at(outcome.n_read++);
  });
  return outcome;
}

TEST(MessageReader, ALineIsAMessage) {
  const Outcome o = read({{"hello"}, {"more"}});
  EXPECT_EQ(o.message.text, "hello");
  EXPECT_EQ(o.n_read, 1u);
  EXPECT_EQ(o.prompts, ">>> ");
}

TEST(MessageReader, ABackslashContinuesIt) {
  const Outcome o = read({{"one \\"}, {"two\\"}, {"three"}});
  EXPECT_EQ(o.message.text, "one \ntwo\nthree");
  EXPECT_EQ(o.prompts, ">>> ... ... ");
}

TEST(MessageReader, QuotesHoldSeveralLines) {
  EXPECT_EQ(read({{"\"\"\""}, {"one"}, {""}, {"two\\"}, {"\"\"\""}}).message.text, "one\n\ntwo\\");
  EXPECT_EQ(read({{"\"\"\"one"}, {"two\"\"\""}}).message.text, "one\ntwo");
  EXPECT_EQ(read({{"\"\"\"one line\"\"\""}}).message.text, "one line");
  EXPECT_EQ(read({{"\"\"\""}, {"\"\"\""}}).message.text, "");
}

TEST(MessageReader, LinesThatCameTogetherAreTakenAsTheyAre) {
  const std::string pasted = "\"\"\"A docstring\nand more \\";
  const Outcome o = read({{pasted}, {"next"}});
  EXPECT_EQ(o.message.text, pasted);
  EXPECT_EQ(o.n_read, 1u);
}

TEST(MessageReader, TheEndOfTheInputEndsAMessage) {
  EXPECT_EQ(read({{"\"\"\""}, {"one"}}).message.text, "one");
  EXPECT_EQ(read({{"one\\"}}).message.text, "one\n");
  EXPECT_EQ(read({}).message.end, End::end_of_file);
}

TEST(MessageReader, CtrlCDropsAMessage) {
  const Outcome o = read({{"one\\"}, {"tw", End::interrupted}});
  EXPECT_EQ(o.message.end, End::interrupted);
  EXPECT_NE(o.message.text, "") << "not a Ctrl-C on an empty line";
  EXPECT_EQ(read({{"", End::interrupted}}).message.text, "");
}

}  // namespace
}  // namespace maglio::app
