#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "support/repl_fixture.h"

namespace maglio {
namespace {

using namespace test;  // the keys
using test::ProgramResult;

class Repl : public test::ReplFixture {};

TEST_F(Repl, AnswersTurnByTurnUntilCtrlD) {
  TerminalProgram& repl = start();
  ASSERT_TRUE(repl.await_prompt(">>> ")) << repl.screen();
  repl.type("Capital?\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> ")) << repl.screen();
  repl.type("Again?\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  EXPECT_EQ(repl.exit_code_after(kCtrlD), 0) << repl.screen();
}

TEST_F(Repl, CtrlCStopsTheAnswerAndTheChatGoesOn) {
  answers_without_end();
  TerminalProgram& repl = start({"--repl"});
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("Go\r");
  ASSERT_TRUE(repl.await("ababab")) << repl.screen();
  repl.type(kCtrlC);
  ASSERT_TRUE(repl.await_prompt(">>> ")) << "the prompt comes back";
  repl.type("/help\r");
  EXPECT_TRUE(repl.await("/regen"));
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/exit\r");
  EXPECT_EQ(repl.exit_code(), 0);
}

TEST_F(Repl, SecondCtrlCLeaves) {
  TerminalProgram& repl = start();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type(kCtrlC);
  ASSERT_TRUE(repl.await("leaves.")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  EXPECT_EQ(repl.exit_code_after(kCtrlC), 0) << repl.screen();
}

TEST_F(Repl, FullContextIsSaidAndTheChatGoesOn) {
  TerminalProgram& repl = start({"--ctx", "60"});
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type(std::string(70, 'x') + "\r");
  EXPECT_TRUE(repl.await("context size is 60")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("Hi\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
}

TEST_F(Repl, SeveralLinesAreOneMessage) {
  TerminalProgram& repl = start();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("one \\\r");
  ASSERT_TRUE(repl.await_prompt("... ")) << repl.screen();
  repl.type("two\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("\"\"\"\r");
  ASSERT_TRUE(repl.await_prompt("... ")) << repl.screen();
  repl.type("three\r");
  ASSERT_TRUE(repl.await_prompt("... "));
  repl.type("\"\"\"\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
}

TEST_F(Repl, CtrlCClearsALineAndDoesNotLeave) {
  TerminalProgram& repl = open();
  for (int i = 0; i < 3; ++i) {
    repl.type("half a mess");
    ASSERT_TRUE(repl.await_row(">>> half a mess")) << repl.screen();
    repl.type(kCtrlC);
    ASSERT_TRUE(repl.await_prompt(">>> ")) << repl.screen();
  }
  repl.type("Hi\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
}

TEST_F(Repl, SecondCtrlCInAnAnswerEndsTheProgramAtOnce) {
  answers_without_end();
  TerminalProgram& repl = open({"--repl"});
  repl.type("Go\r");
  ASSERT_TRUE(repl.await("ababab")) << repl.screen();
  repl.signal(SIGSTOP);  // so that it cannot answer between the two
  repl.signal(SIGINT);
  repl.signal(SIGCONT);
  const int code = repl.exit_code_after(kCtrlC);
  EXPECT_TRUE(code == 130 || code == 0) << code << repl.screen();
}

// Thousands of passes, of which only the first are taken.
TEST_F(Repl, CtrlCStopsThePromptToo) {
  model_.context_length = 1 << 22;
  std::ofstream(dir_ / "long.txt") << std::string(2'000'000, 'x');
  TerminalProgram& repl = open();
  repl.type("/read " + (dir_ / "long.txt").string() + "\r");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("Hi\r");
  ASSERT_TRUE(repl.await("reading [")) << repl.screen();
  ASSERT_TRUE(repl.await(" s left")) << repl.screen();
  repl.type(kCtrlC);
  ASSERT_TRUE(repl.await("(stopped while reading")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/undo\r");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("Hi\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
}

TEST_F(Repl, SingleTurnLeavesAfterOneAnswer) {
  TerminalProgram& repl = open({"-st"});
  repl.type("/tokens\r");
  ASSERT_TRUE(repl.await_prompt(">>> ")) << "a command is no turn";
  repl.type("Hi\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(repl.exit_code(), 0);
}

TEST_F(Repl, ASlashCanBeSaid) {
  TerminalProgram& repl = open();
  repl.type("//etc is a folder\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/show history\r");
  EXPECT_TRUE(repl.await("user: /etc is a folder")) << repl.screen();
}

TEST_F(Repl, MessagesFromAPipeAreTurns) {
  const std::string path = dir_ / "model.gguf";
  model_.write(path);
  const ProgramResult f =
      run_program({MAGLIO_BINARY, "run", path, "--repl", "--temp", "0", "--threads", "1"},
                  "Hi\n\"\"\"\nAgain\nand again\n\"\"\"\n/exit\nNo\n");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.out, "Paris\nParis\n");
  EXPECT_EQ(f.err, "");
}

}  // namespace
}  // namespace maglio
