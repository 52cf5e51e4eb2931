// maglio run --streams N
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/successor_model.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::ProgramResult;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    lines.emplace_back(text.substr(0, end));
  }
  return lines;
}

class Streams : public testing::Test {
 protected:
  // A model that babbles: what it says depends on all that it has read.
  Streams() {
    test::SyntheticModel model;
    model.config = test::tiny_config(Architecture::qwen3);
    model.tied_head = false;
    auto builder = model.builder();
    builder.string("tokenizer.chat_template", test::SuccessorModel::kChatMl);
    builder.write(dir_ / "model.gguf");
  }

  ProgramResult run(std::vector<std::string> arguments, std::string_view in = {}) {
    arguments.insert(arguments.begin(), {MAGLIO_BINARY, "run", dir_ / "model.gguf", "--threads",
                                         "1", "--ctx", "200", "--temp", "1"});
    return test::run_program(arguments, in);
  }
  std::string file(std::string_view text) {
    std::ofstream(dir_ / "prompts") << text;
    return dir_ / "prompts";
  }
  // What JSON says of an answer, without its times.
  static boost::json::object answer(std::string_view line) {
    boost::json::object o = boost::json::parse(line).as_object();
    o.erase("timings");
    return o;
  }

  test::TempDir dir_;
};

const char* const kEight =
    "a\nThe sky\n\xc3\xa9t\xc3\xa9 and so on\n1234\nlonger and longer and longer\n  x\nHello?\nz\n";

TEST_F(Streams, APromptThatIsNoneFailsAlone) {
  const ProgramResult all =
      run({"--prompt-file", file("a\n\nz\n"), "--streams", "3", "--seed", "5", "--gen", "5"});
  EXPECT_EQ(all.exit_code, 1);
  EXPECT_NE(all.err.find("maglio: stream 1: the prompt has no tokens"), std::string::npos)
      << all.err;
  const auto lines = lines_of(all.out);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_FALSE(lines.front().empty());
  EXPECT_FALSE(lines.back().empty());
}

TEST_F(Streams, LinesOfFilesFromWindowsAreTheSame) {
  const std::vector<std::string> more = {"--streams", "2", "--seed", "5", "--gen", "5"};
  const auto answers = [&](std::string_view text) {
    std::vector<std::string> arguments = {"--prompt-file", file(text)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments).out;
  };
  EXPECT_EQ(answers("a\r\nz\r\n"), answers("a\nz\n"));
  EXPECT_NE(answers("a\nz\n"), "");
}

TEST_F(Streams, EachPromptIsContinuedAsAlone) {
  const std::vector<std::string> more = {"--json", "--gen", "30", "--stop", "e"};
  std::vector<std::string> together = {"--prompt-file", file(kEight), "--streams", "8",
                                       "--seed",        "5"};
  together.insert(together.end(), more.begin(), more.end());
  const ProgramResult all = run(together);
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const auto lines = lines_of(all.out), prompts = lines_of(kEight);
  ASSERT_EQ(lines.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    std::vector<std::string> alone = {"--prompt", prompts[i], "--seed", std::to_string(5 + i)};
    alone.insert(alone.end(), more.begin(), more.end());
    EXPECT_EQ(answer(lines[i]), answer(run(alone).out)) << i;
  }
}

TEST_F(Streams, EachQuestionIsAnsweredAsAlone) {
  const ProgramResult all =
      run({"--streams", "3", "--seed", "5", "--json", "--max-tokens", "20"}, "Why?\nAnd\nwhen");
  ASSERT_EQ(all.exit_code, 0) << all.err;
  const auto lines = lines_of(all.out);
  ASSERT_EQ(lines.size(), 3u);
  const char* const questions[] = {"Why?", "And", "when"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer(lines[i]), answer(run({"--chat", questions[i], "--seed", std::to_string(5 + i),
                                            "--json", "--max-tokens", "20"})
                                           .out))
        << i;
  }
}

TEST_F(Streams, ATextOfTheCommandLineIsEveryStreamsAndTheSeedsCount_B89) {
  const ProgramResult all =
      run({"--prompt", "Once", "--streams", "3", "--seed", "7", "--gen", "20", "--json"});
  const auto lines = lines_of(all.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(answer(lines[0]).at("ids"), answer(lines[1]).at("ids"));
  EXPECT_EQ(answer(lines[2]),
            answer(run({"--prompt", "Once", "--seed", "9", "--gen", "20", "--json"}).out));
}

TEST_F(Streams, MoreLinesThanStreamsTakeTurns) {
  const auto run_in = [&](const char* n) {
    const auto f =
        run({"--prompt-file", file(kEight), "--streams", n, "--seed", "5", "--gen", "9", "--json"});
    std::vector<boost::json::object> answers;
    for (const std::string& line : lines_of(f.out)) answers.push_back(answer(line));
    return answers;
  };
  const auto all = run_in("8");
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(run_in("3"), all);
  EXPECT_EQ(run_in("1"), all);
}

TEST_F(Streams, TextComesInTheOrderOfTheInput) {
  test::SuccessorModel().after('a', 'b').after('b', 'c').after('x', 'y').write(dir_ / "model.gguf");
  const ProgramResult f = run({"--prompt-file", file("a\nx\nb\n"), "--streams", "3", "--gen", "2"});
  EXPECT_EQ(f.out, "bc\ny\nc\n");
  EXPECT_NE(f.err.find("3 streams: "), std::string::npos) << f.err;
  EXPECT_NE(f.err.find(" tokens/s"), std::string::npos) << f.err;
}

TEST_F(Streams, OneThatFailsLeavesTheOthersAlone) {
  const std::string too_long(300, 'x');
  const std::string prompts = file("a\n" + too_long + "\nb\n");
  const ProgramResult f =
      run({"--prompt-file", prompts, "--streams", "3", "--seed", "5", "--gen", "9", "--json"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_NE(f.err.find("stream 1: "), std::string::npos) << f.err;
  const auto lines = lines_of(f.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(boost::json::parse(lines[1]).at("error").at("code"), "ContextFull");
  EXPECT_EQ(answer(lines[2]),
            answer(run({"--prompt", "b", "--seed", "7", "--gen", "9", "--json"}).out));
}

TEST_F(Streams, WhatDoesNotFitTogetherIsRefused) {
  const ProgramResult few = run({"--prompt-file", file("a\nb\n"), "--streams", "3"});
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_NE(few.err.find("found 2"), std::string::npos) << few.err;
  EXPECT_EQ(run({"--prompt-file", file(""), "--streams", "1"}).exit_code, 1);
  for (const char* n : {"0", "-1", "x", "100000"}) {
    EXPECT_EQ(run({"--prompt", "a", "--streams", n}).exit_code, 2) << n;
  }
  EXPECT_EQ(run({"--repl", "--streams", "2"}).exit_code, 2);
  EXPECT_EQ(run({"--prompt-ids", "1", "--streams", "2"}).exit_code, 2);
  EXPECT_EQ(run({"--prompt", "a", "--verify-cache", "2", "--streams", "2"}).exit_code, 2);
}

}  // namespace
}  // namespace maglio
