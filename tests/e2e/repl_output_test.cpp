// What reaches the screen, and what reaches a file.
#include <gtest/gtest.h>

#include <string>

#include "support/repl_fixture.h"

namespace maglio {
namespace {

using namespace test;

constexpr std::string_view kDim = "\x1b[2m", kPlain = "\x1b[0m";

class ReplOutput : public test::ReplFixture {
 protected:
  // A model that says these tokens.
  void answers_ids(std::vector<TokenId> ids) {
    model_ = SuccessorModel();
    TokenId last = '\n';
    for (TokenId id : ids) {
      model_.after(last, id);
      last = id;
    }
  }
  std::string shown(std::vector<std::string> flags, Environment environment = {}) {
    TerminalProgram& repl = open(std::move(flags), std::move(environment));
    repl.type("Hi\r");
    EXPECT_TRUE(repl.await_prompt(">>> ")) << repl.screen();
    const std::string& all = repl.screen();
    return all.substr(all.find("Hi"));
  }
  ProgramResult run(std::vector<std::string> flags, std::string_view in = {}) {
    const std::string path = dir_ / "model.gguf";
    model_.write(path);
    flags.insert(flags.begin(), {MAGLIO_BINARY, "run", path, "--threads", "1", "--temp", "0"});
    return run_program(flags, in);
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ReplOutput, HostileBytesOfAModelDoNotReachTheTerminal) {
  answers_ids(
      {'A', 0x1b, ']', '0', ';', 'B', 0x07, '\r', 'C', '\b', 'D', 0x7f, 0xc2, 0x9b, '2', 'J'});
  const std::string all = shown({"--color", "off"});
  EXPECT_TRUE(has(all, "A^[]0;B^GC^HD^?\uFFFD2J\r\n")) << all;
}

TEST_F(ReplOutput, OffATerminalTheyAreLeftAsTheyAre) {
  answers_ids({'A', 0x1b, '[', '2', 'J', '\t', '\r', 'B'});
  EXPECT_EQ(run({"--chat", "Hi"}).out, "A\x1b[2J\t\rB\n");
}

TEST_F(ReplOutput, ThoughtIsDimWhereThereIsColour) {
  answers_ids({SuccessorModel::kThink, 'u', 'm', SuccessorModel::kEndOfThought, 'O', 'K'});
  const std::string all = shown({});
  const std::string dim = std::string(kDim) + "<think>um</think>" + std::string(kPlain);
  EXPECT_TRUE(has(all, dim + "OK\r\n")) << all;
  const std::string without = shown({}, {{"NO_COLOR", "1"}});
  EXPECT_TRUE(has(without, "<think>um</think>OK\r\n")) << without;
  EXPECT_FALSE(has(without, kDim)) << without;
  const std::string hidden = shown({"--hide-thinking"});
  EXPECT_FALSE(has(hidden, "um")) << hidden;
  EXPECT_TRUE(has(hidden, "OK\r\n")) << hidden;
}

TEST_F(ReplOutput, ColourFollowsTheTerminalTheEnvironmentAndTheFlag) {
  EXPECT_TRUE(has(shown({}), kDim)) << "the timing line";
  EXPECT_FALSE(has(shown({}, {{"NO_COLOR", "1"}}), kDim));
  EXPECT_TRUE(has(shown({}, {{"NO_COLOR", ""}}), kDim)) << "empty is unset";
  EXPECT_TRUE(has(shown({"--color", "on"}, {{"NO_COLOR", "1"}}), kDim));
  EXPECT_FALSE(has(shown({"-co", "off"}), kDim));
  EXPECT_FALSE(has(shown({}, {{"MAGLIO_COLOR", "off"}}), kDim));
}

TEST_F(ReplOutput, TheTimingLineNamesItsFields) {
  TerminalProgram& repl = open({"--color", "off"});
  repl.type("Hi\r");
  ASSERT_TRUE(repl.await("Paris\r\ntokens: 21, ")) << repl.screen();
  EXPECT_TRUE(repl.await("/s · first ")) << repl.screen();
  EXPECT_TRUE(repl.await(" s · answer 5, ")) << repl.screen();
  EXPECT_TRUE(repl.await("/s · all ")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("Hi\r");
  EXPECT_TRUE(repl.await(" reused, ")) << repl.screen();
}

TEST_F(ReplOutput, TimingsCanBeTurnedOffAndAskedFor) {
  EXPECT_FALSE(has(shown({"--no-timings"}), "tokens:"));
  EXPECT_EQ(run({"--chat", "Hi"}).err, "");
  const ProgramResult f = run({"--chat", "Hi", "--verbose"});
  EXPECT_EQ(f.out, "Paris\n");
  EXPECT_TRUE(f.err.starts_with("tokens: ")) << f.err;
  EXPECT_EQ(run({"--chat", "Hi", "--verbose", "--no-timings"}).exit_code, 2);
}

TEST_F(ReplOutput, EscapesAreReadOnRequest) {
  EXPECT_EQ(run({"--prompt", R"(\n)", "--gen", "5", "-e"}).out, "Paris\n");
  EXPECT_EQ(run({"-p", R"(x\n)", "-n", "5"}).out, "\n") << "the letter n has no successor";
}

TEST_F(ReplOutput, TheSystemMessageCanComeFromAFile) {
  std::ofstream(dir_ / "system.txt") << "Be brief.";
  const ProgramResult f = run({"--repl", "-sysf", dir_ / "system.txt"}, "/show system\n");
  EXPECT_EQ(f.err, "Be brief.\n");
  EXPECT_EQ(run({"--chat", "Hi", "-sysf", dir_ / "absent"}).exit_code, 1);
  EXPECT_EQ(run({"--chat", "Hi", "-sysf", "a", "-sys", "b"}).exit_code, 2);
}

}  // namespace
}  // namespace maglio
