#include "maglio/repl/history_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "support/temp_dir.h"

namespace maglio::app {
namespace {

namespace fs = std::filesystem;

TEST(HistoryFile, KeepsMessagesOfAnyText) {
  const test::TempDir dir;
  const HistoryFile file(dir / "state/maglio/history");
  EXPECT_TRUE(file.load().empty());
  file.add("one");
  file.add("two\nlines \\n and a backslash\\");
  file.add("日本 e\u0301");
  EXPECT_EQ(file.load(),
            (std::vector<std::string>{"one", "two\nlines \\n and a backslash\\", "日本 e\u0301"}));
}

TEST(HistoryFile, OnlyItsOwnerMayReadIt) {
  const test::TempDir dir;
  const std::string path = dir / "history";
  std::ofstream(path) << "old\n";
  fs::permissions(path, fs::perms(0644));
  HistoryFile(path).add("secret");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  HistoryFile(dir / "new").add("secret");
  EXPECT_EQ(fs::status(dir / "new").permissions(), fs::perms(0600));
}

TEST(HistoryFile, ForgetsTheOldest) {
  const test::TempDir dir;
  const std::string path = dir / "history";
  {
    std::ofstream out(path);
    for (size_t i = 0; i < HistoryFile::kMessages + 5; ++i) out << i << "\n";
  }
  HistoryFile(path).add("newest");
  const auto messages = HistoryFile(path).load();
  EXPECT_EQ(messages.size(), HistoryFile::kMessages);
  EXPECT_EQ(messages.front(), "6");
  EXPECT_EQ(messages.back(), "newest");
}

TEST(HistoryFile, WithoutAPathOrWithAHugeMessageNothingIsKept) {
  const test::TempDir dir;
  HistoryFile("").add("one");
  const HistoryFile file(dir / "history");
  file.add(std::string(HistoryFile::kMessageBytes + 1, 'x'));
  EXPECT_FALSE(fs::exists(dir / "history"));
}

TEST(HistoryFile, AnUnusableFileDisturbsNobody) {
  const test::TempDir dir;
  HistoryFile(dir.path()).add("a folder");
  EXPECT_TRUE(HistoryFile(dir.path()).load().empty());
  HistoryFile("/dev/null").add("a device");
  EXPECT_TRUE(HistoryFile("/dev/null").load().empty());
  std::ofstream(dir / "binary", std::ios::binary) << std::string("\0\xff\\\n\n\nend\\", 10);
  EXPECT_EQ(HistoryFile(dir / "binary").load().back(), "end\\");
}

TEST(HistoryFile, SessionsSideBySideLoseNothing) {
  const test::TempDir dir;
  const std::string path = dir / "history";
  std::vector<std::thread> sessions;
  for (int s = 0; s < 4; ++s) {
    sessions.emplace_back([&path] {
      for (int i = 0; i < 25; ++i) HistoryFile(path).add("message");
    });
  }
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(HistoryFile(path).load().size(), 100u);
}

}  // namespace
}  // namespace maglio::app
