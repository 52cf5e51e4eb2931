// The keys of the chat, as a user presses them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/repl_fixture.h"

namespace maglio {
namespace {

using namespace test;  // the keys

class ReplKeys : public test::ReplFixture {
 protected:
  // After these keys the line reads so.
  void expect_line(TerminalProgram& repl, std::string_view keys, const std::string& line) {
    repl.type(keys);
    EXPECT_TRUE(repl.await_row(line.empty() ? ">>>" : ">>> " + line))
        << "'" << line << "' expected\n"
        << repl.display().text();
  }
  std::string write_script(const std::string& name, const std::string& body) {
    const std::string path = dir_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms(0700));
    return path;
  }
};

std::string paste(std::string_view text) {
  return "\x1b[200~" + std::string(text) + "\x1b[201~";
}

TEST_F(ReplKeys, EditTheLine) {
  TerminalProgram& repl = open();
  expect_line(repl, "two three", "two three");
  expect_line(repl, "\x01one ", "one two three");  // Ctrl-A
  expect_line(repl, "\x05!", "one two three!");    // Ctrl-E
  expect_line(repl,
              "\x1b"
              "b\x1b"
              "bX",
              "one Xtwo three!");  // Alt-B
  expect_line(repl,
              "\x1b"
              "fY",
              "one XtwoY three!");                      // Alt-F
  expect_line(repl, "\x0b", "one XtwoY");               // Ctrl-K
  expect_line(repl, "\x17", "one");                     // Ctrl-W
  expect_line(repl, "\x1b[D\x1b[DZ\x1b[C\x7f", "one");  // arrows, and what they passed
  expect_line(repl, "\x15", "one");                     // Ctrl-U: all before the cursor
  expect_line(repl, "\x0b", "");
  expect_line(repl, "abc\x02\x02\x04", "ac");   // Ctrl-B, Ctrl-D
  expect_line(repl, "\x1b[H1\x1b[F2", "1ac2");  // Home, End
  repl.type("\x0c");                            // Ctrl-L
  ASSERT_TRUE(repl.await("\x1b[2J")) << repl.screen();
  expect_line(repl, "3", "1ac23");
  EXPECT_EQ(repl.display().row(0), ">>> 1ac23");
}

TEST_F(ReplKeys, BytesThatAreNoCharacterAreShownAndTakeNothingWithThem) {
  TerminalProgram& repl = open();
  expect_line(repl, "\xff\xfe ab", "\uFFFD\uFFFD ab");
  expect_line(repl, "caf\xe9 c", "\uFFFD\uFFFD abcaf\uFFFD c");  // Latin-1's, before a blank
  expect_line(repl, "\x15", "");
  expect_line(repl, "\xe2\x82\xc3\xa9x", "\uFFFD\u00e9x");  // a broken one before a whole one
}

TEST_F(ReplKeys, WideLettersAndMarksKeepTheirPlaces) {
  TerminalProgram& repl = open();
  expect_line(repl, "日本語x", "日本語x");
  EXPECT_EQ(repl.display().cursor_column(), 4u + 3 * 2 + 1);
  expect_line(repl, "\x02\x02-", "日本-語x");
  EXPECT_EQ(repl.display().cursor_column(), 4u + 2 * 2 + 1);
  expect_line(repl, "\x7f\x7f", "日語x");
  EXPECT_EQ(repl.display().cursor_column(), 4u + 2);
  expect_line(repl, "\x05\x15", "");
  expect_line(repl, "e\u0301t\u0323\u0301x", "e\u0301t\u0323\u0301x");  // accents
  EXPECT_EQ(repl.display().cursor_column(), 4u + 3);
  expect_line(repl, "\x02\x02-", "e\u0301-t\u0323\u0301x");
  expect_line(repl, "\x1b[C\x7f", "e\u0301-x");  // a letter goes with its marks
  expect_line(repl, "\x01\x04", "-x");
  expect_line(repl, "\x15สวัสดี", "สวัสดี-x");
  repl.type("\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(history(), "สวัสดี-x\n");
}

TEST_F(ReplKeys, HistoryComesBackInLaterSessions) {
  TerminalProgram& repl = open();
  repl.type("first e\u0301\r");
  ASSERT_TRUE(repl.await("Paris\r\n"));
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/tokens second\r");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  expect_line(repl, kUp, "/tokens second");
  expect_line(repl, kUp, "first e\u0301");
  expect_line(repl, "\x1b[B", "/tokens second");
  expect_line(repl, "\x10", "first e\u0301");  // Ctrl-P
  repl.type(kCtrlC);
  ASSERT_TRUE(repl.await_prompt(">>> "));
  EXPECT_EQ(repl.exit_code_after(kCtrlD), 0);
  EXPECT_EQ(std::filesystem::status(dir_ / "maglio/history").permissions(),
            std::filesystem::perms(0600));

  TerminalProgram& later = open();
  expect_line(later, kUp, "/tokens second");
  expect_line(later, kUp, "first e\u0301");
}

TEST_F(ReplKeys, CtrlRSearchesTheHistory) {
  std::filesystem::create_directories(dir_ / "maglio");
  std::ofstream(dir_ / "maglio/history") << "one apple\ntwo pears\nthree plums\n";
  TerminalProgram& repl = open();
  repl.type(
      "\x12"
      "pea");
  ASSERT_TRUE(repl.await_row(">>> two pears")) << repl.display().text();
  repl.type("\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_TRUE(history().ends_with("three plums\ntwo pears\n")) << history();
}

TEST_F(ReplKeys, TheHistoryFileCanBeNamedAndRefused) {
  TerminalProgram& repl = open({}, {{"MAGLIO_HISTORY", dir_ / "elsewhere"}});
  repl.type("kept\r");
  ASSERT_TRUE(repl.await("Paris\r\n"));
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("/set nohistory\r");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type("secret\r");
  ASSERT_TRUE(repl.await("Paris\r\n"));
  ASSERT_TRUE(repl.await_prompt(">>> "));
  EXPECT_EQ(repl.exit_code_after(kCtrlD), 0);
  std::ifstream in(dir_ / "elsewhere");
  EXPECT_EQ((std::string{std::istreambuf_iterator<char>(in), {}}), "kept\n/set nohistory\n");
  EXPECT_EQ(history(), "");

  TerminalProgram& without = open({"--history", ""});
  without.type("secret\r");
  ASSERT_TRUE(without.await("Paris\r\n"));
  EXPECT_EQ(history(), "");
}

TEST_F(ReplKeys, PastedLinesAreOneMessage) {
  TerminalProgram& repl = open();
  repl.type(paste("def f():\r\treturn 1\r\r# done\r"));
  ASSERT_TRUE(repl.await_row("# done")) << repl.display().text();
  repl.type("\r");
  ASSERT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(history(), "def f():\\n\treturn 1\\n\\n# done\n");
  ASSERT_TRUE(repl.await_prompt(">>> "));
  repl.type(paste("/tokens hi\n"));
  ASSERT_TRUE(repl.await_row(">>> /tokens hi")) << "not sent before Enter";
  repl.type("\r");
  EXPECT_TRUE(repl.await("2 tokens")) << repl.screen();
}

TEST_F(ReplKeys, APasteThatIsLongerThanTheScreenArrivesWhole) {
  TerminalProgram& repl = open({"--ctx", "100000"});
  std::string lines, kept;
  for (int i = 0; i < 200; ++i) {
    lines += "line " + std::to_string(i) + "\r";
    kept += "line " + std::to_string(i) + (i < 199 ? "\\n" : "\n");
  }
  repl.type(paste(lines));
  ASSERT_TRUE(repl.await_row("line 199")) << repl.display().text();
  repl.type("\r");
  ASSERT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(history(), kept);
}

TEST_F(ReplKeys, CtrlGOpensTheEditor) {
  const std::string editor =
      write_script("editor", "printf 'and more\\nlines e\u0301' >> \"$1\"\n");
  TerminalProgram& repl = open({}, {{"EDITOR", editor}});
  repl.type("A word");
  ASSERT_TRUE(repl.await_row(">>> A word"));
  repl.type("\x07");
  ASSERT_TRUE(repl.await_row("lines e\u0301")) << repl.display().text();
  repl.type("\r");
  ASSERT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(history(), "A word\\nand more\\nlines e\u0301\n");
}

TEST_F(ReplKeys, AnEditorThatFailsLeavesTheLine) {
  TerminalProgram& repl = open({}, {{"VISUAL", "false"}});
  repl.type("A word");
  ASSERT_TRUE(repl.await_row(">>> A word"));
  repl.type("\x07");
  ASSERT_TRUE(repl.await("the editor 'false' ended with 1")) << repl.screen();
  ASSERT_TRUE(repl.await_row(">>> A word")) << repl.display().text();
}

TEST_F(ReplKeys, StoppingAndResizingDoNotWreckTheLine) {
  TerminalProgram& repl = open();
  expect_line(repl, "half a ", "half a");
  repl.resize(60, 20);
  EXPECT_TRUE(repl.await_row(">>> half a")) << repl.display().text();
  repl.signal(SIGSTOP);
  repl.signal(SIGCONT);
  ASSERT_TRUE(repl.await(">>> half a")) << repl.screen();
  repl.signal(SIGTSTP);  // nobody would wake it, so the system does not stop it
  ASSERT_TRUE(repl.await(">>> half a")) << repl.screen();
  repl.type("message\r");
  EXPECT_TRUE(repl.await("Paris\r\n")) << repl.screen();
  EXPECT_EQ(history(), "half a message\n");
}

}  // namespace
}  // namespace maglio
