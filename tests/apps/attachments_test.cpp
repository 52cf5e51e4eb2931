#include "maglio/repl/attachments.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "maglio/error.h"
#include "support/temp_dir.h"

namespace maglio::app {
namespace {

class AttachmentsTest : public testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view text) {
    const std::string path = dir_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string code_of(const std::string& path) {
    try {
      attachments_.add_file(path);
    } catch (const Error& error) {
      return error.code();
    }
    return "none";
  }

  test::TempDir dir_;
  Attachments attachments_;
};

TEST_F(AttachmentsTest, AFileStandsBeforeTheMessageUnderItsName) {
  const std::string path = put("a.txt", "one\ntwo");
  EXPECT_EQ(attachments_.add_file(path), 2u);
  EXPECT_EQ(attachments_.take_with("What is it?"), path + ":\n```\none\ntwo\n```\n\nWhat is it?");
  EXPECT_EQ(attachments_.take_with("Again"), "Again") << "once only";
}

TEST_F(AttachmentsTest, AFenceIsLongerThanThoseInTheFile) {
  const std::string path = put("a.md", "````\ncode\n````\n");
  attachments_.add_file(path);
  EXPECT_EQ(attachments_.take_with(""), path + ":\n`````\n````\ncode\n````\n`````\n\n");
}

TEST_F(AttachmentsTest, APatternTakesAllThatMatchInOrder) {
  const std::string b = put("b.h", "b"), a = put("a.h", "a");
  put("c.cpp", "c");
  std::filesystem::create_directory(dir_ / "d.h");
  EXPECT_EQ(attachments_.add_matching(dir_ / "*.h"), (std::vector<std::string>{a, b}));
  EXPECT_THROW(attachments_.add_matching(dir_ / "*.rs"), Error);
}

TEST_F(AttachmentsTest, RefusesWhatIsNoText) {
  EXPECT_EQ(code_of(dir_ / "absent"), "CannotRead");
  EXPECT_EQ(code_of(dir_.path()), "NoText");
  EXPECT_EQ(code_of("/dev/zero"), "NoText");
  EXPECT_EQ(code_of(put("binary", std::string("a\0b", 3))), "NoText");
  EXPECT_EQ(code_of(put("latin1", "gr\xfc\xdf")), "NoText");
  std::filesystem::resize_file(put("huge", ""), Attachments::kFileBytes + 1);
  EXPECT_EQ(code_of(dir_ / "huge"), "FileTooLarge");
  EXPECT_TRUE(attachments_.empty());
}

TEST_F(AttachmentsTest, APatternWithABadFileTakesNone) {
  put("a.txt", "good");
  put("b.txt", "bad\xff");
  EXPECT_THROW(attachments_.add_matching(dir_ / "*.txt"), Error);
  EXPECT_TRUE(attachments_.empty());
}

}  // namespace
}  // namespace maglio::app
