#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/successor_model.h"
#include "support/temp_dir.h"
#include "support/terminal_program.h"

namespace maglio {
namespace {

using test::SuccessorModel;
using test::TerminalProgram;

constexpr const char* kCtrlC = "\x03";
constexpr const char* kCtrlD = "\x04";
constexpr const char* kUp = "\x1b[A";

class Repl : public testing::Test {
 protected:
  Repl() { model_.answers("Paris"); }

  TerminalProgram& start(std::vector<std::string> more = {}) {
    const std::string path = dir_ / "model.gguf";
    model_.write(path);
    std::vector<std::string> command = {MAGLIO_BINARY, "run",       path, "--temp",
                                        "0",           "--threads", "1"};
    command.insert(command.end(), more.begin(), more.end());
    program_ = std::make_unique<TerminalProgram>(
        command, test::Environment{{"TERM", "xterm"}, {"XDG_STATE_HOME", dir_.path().string()}});
    return *program_;
  }

  test::TempDir dir_;
  SuccessorModel model_;
  std::unique_ptr<TerminalProgram> program_;
};

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
  model_ = SuccessorModel();
  model_.after('\n', 'a').after('a', 'b').after('b', 'a');  // endless
  model_.context_length = 1 << 20;
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

TEST_F(Repl, LineCanBeEditedAndHistoryComesBack) {
  TerminalProgram& repl = start();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type(
      "/hxlp\x02\x02\x02\x04"
      "e\r");  // Ctrl-B thrice, Ctrl-D deletes the x
  EXPECT_TRUE(repl.await("/regen  answer")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type(kUp);
  ASSERT_TRUE(repl.await("/help")) << repl.screen();
  repl.type("\r");
  EXPECT_TRUE(repl.await("/regen  answer")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  EXPECT_EQ(repl.exit_code_after(kCtrlD), 0);

  TerminalProgram& later = start();  // another day
  ASSERT_TRUE(later.await_prompt(">>> "));
  later.type(kUp);
  EXPECT_TRUE(later.await("/help")) << later.screen();
}

TEST_F(Repl, RegenAndClear) {
  TerminalProgram& repl = start();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/regen\r");
  EXPECT_TRUE(repl.await("no answer yet")) << repl.screen();
  repl.type("Hi\r");
  ASSERT_TRUE(repl.await("Paris\r\n"));
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/regen\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/clear\r");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/regen\r");
  EXPECT_TRUE(repl.await("no answer yet")) << repl.screen();
  repl.type("/fly\r");
  EXPECT_TRUE(repl.await("no such command")) << repl.screen();
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

TEST_F(Repl, LinesFromAPipeAreTurns) {
  const std::string path = dir_ / "model.gguf";
  model_.write(path);
  const test::ProgramResult f =
      test::run_program({MAGLIO_BINARY, "run", path, "--repl", "--temp", "0", "--threads", "1"},
                        "Hi\nAgain\n/exit\nNo\n");
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.out, "Paris\nParis\n");
  EXPECT_EQ(f.err, "");
}

}  // namespace
}  // namespace maglio
