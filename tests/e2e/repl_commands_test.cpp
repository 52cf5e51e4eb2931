// The commands of the chat, from the outside; what each does alone is tested with the table.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/repl_fixture.h"

namespace maglio {
namespace {

using namespace test;  // the keys

class ReplCommands : public test::ReplFixture {
 protected:
  // Types a line; its outcome is shown, and the prompt is back.
  void expect(const std::string& line, std::string_view outcome) {
    program_->type(line + "\r");
    EXPECT_TRUE(program_->await(outcome)) << line << "\n" << program_->screen();
    ASSERT_TRUE(program_->await_prompt(">>> ")) << line;
  }
};

TEST_F(ReplCommands, RegenUndoAndClear) {
  open();
  expect("/regen", "no answer yet");
  expect("/undo", "nothing has been said");
  expect("Hi", "Paris\r\n");
  expect("/regen", "Paris\r\n");
  expect("More", "Paris\r\n");
  expect("/undo", "forgotten");
  expect("/show history", "user: Hi\r\nassistant: Paris");
  expect("/clear", "");
  expect("/show history", "nothing has been said");
  expect("/regen", "no answer yet");
}

TEST_F(ReplCommands, EditSaysTheLastMessageAnew) {
  const std::string editor = dir_ / "editor";
  std::ofstream(editor) << "#!/bin/sh\nprintf 'Good evening' > \"$1\"\n";
  std::filesystem::permissions(editor, std::filesystem::perms(0700));
  open({}, {{"VISUAL", editor}});
  expect("/edit", "nothing has been said");
  expect("Good morning", "Paris\r\n");
  expect("/edit", "Paris\r\n");
  expect("/show history", "user: Good evening\r\nassistant: Paris");
  expect("/edit", "nothing has been changed");
}

TEST_F(ReplCommands, FilesGoWithTheNextMessage) {
  std::ofstream(dir_ / "notes.txt") << "remember the milk\n";
  std::ofstream(dir_ / "more.txt") << "and the bread\n";
  open();
  expect("/read " + (dir_ / "absent").string(), "cannot be read");
  expect("/read " + dir_.path().string(), "expected a file, found a folder");
  expect("/read " + (dir_ / "notes.txt").string(), "1 lines, go with the next message");
  expect("/glob " + (dir_ / "m*.txt").string(), "more.txt");
  expect("What is missing?", "Paris\r\n");
  expect("/show history", "remember the milk\r\n```");
  expect("/show history", "and the bread\r\n```");
  expect("/show history", "What is missing?\r\nassistant: Paris");
}

TEST_F(ReplCommands, SettingsReachTheAnswer) {
  open();
  expect("/set max-tokens 3", "");
  expect("Hi", "Par\r\n");
  expect("/set max-tokens -1", "");
  expect("/set stop is", "");
  expect("Hi", "Par\r\n");
  expect("/set stop", "");
  expect("/set stop \"is\"", "");
  expect("Hi", "Par\r\n");
  expect("/set stop \"\"", "");
  expect("Hi", "Paris\r\n");
  expect("/system Be brief.", "");
  expect("/show system", "Be brief.");
  expect("/tokens", "of 512 tokens");
}

TEST_F(ReplCommands, StatsAddUp) {
  open();
  expect("/stats", "0 answers");
  expect("Hi", "Paris\r\n");
  expect("Hi", "Paris\r\n");
  expect("/stats", "2 answers");
}

TEST_F(ReplCommands, AConversationIsSavedAndLoaded) {
  const std::string file = dir_ / "talk";
  open();
  expect("Hi", "Paris\r\n");
  expect("/save " + file, "tokens kept");
  expect("/clear", "");
  expect("/load " + file, "2 messages");
  expect("/show history", "user: Hi\r\nassistant: Paris");
  expect("/load " + file + "not", "talknot");
  expect("/load", "/load: expected FILE behind it, found nothing");
  expect("/save \"" + file + " 2\"", "talk 2: ");
  EXPECT_TRUE(std::filesystem::exists(file + " 2"));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  expect("/load " + file, "none of its turns is whole, so nothing was loaded");
  expect("/show history", "user: Hi\r\nassistant: Paris");
}

TEST_F(ReplCommands, MistakesAreSaidAndTheChatGoesOn) {
  open();
  expect("/claer", "did you mean /clear?");
  expect("/usr/bin", "//");
  expect("/set temp hot", "/set temp: expected a number, found 'hot'");
  expect("/set temp", "/set temp: expected T behind it, found ''");
  expect("/set timings maybe", "/set timings: expected on or off, found 'maybe'");
  expect("/help", "/regen ");
  expect("Hi", "Paris\r\n");
}

}  // namespace
}  // namespace maglio
