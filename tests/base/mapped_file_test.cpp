#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "maglio/error.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

constexpr size_t kMiB = 1 << 20;

void write_letters(const std::filesystem::path& path, size_t n, char letter) {
  std::ofstream(path, std::ios::binary) << std::string(n, letter);
}

// KiB of this process's memory that the mapping beginning at p occupies, by /proc/self/smaps.
size_t resident_kib(const std::byte* p) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    const size_t dash = line.find('-');
    if (dash != std::string::npos && dash < line.find(' ')) {
      inside = std::stoull(line, nullptr, 16) == reinterpret_cast<uintptr_t>(p);
    }
    if (inside && line.starts_with("Rss:")) return std::stoull(line.substr(4));
  }
  return 0;
}

void expect_refused(const std::filesystem::path& path, ErrorKind kind, std::string_view code) {
  try {
    MappedFile::open(path);
    FAIL() << path;
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind));
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(error.message().find(path.string()), std::string::npos) << error.message();
  }
}

TEST(MappedFile, ShowsTheBytesOfTheFile) {
  const test::TempDir folder;
  write_letters(folder / "a", 5000, 'x');
  const MappedFile file = MappedFile::open(folder / "a");
  EXPECT_EQ(file.path(), folder / "a");
  ASSERT_EQ(file.bytes().size(), 5000u);
  EXPECT_TRUE(std::ranges::all_of(file.bytes(), [](std::byte b) { return b == std::byte{'x'}; }));
}

TEST(MappedFile, EmptyFileHasNoBytes) {
  const test::TempDir folder;
  write_letters(folder / "a", 0, 'x');
  const MappedFile file = MappedFile::open(folder / "a");
  EXPECT_TRUE(file.bytes().empty());
  file.require_full_size();
}

TEST(MappedFile, RefusesWhatIsNotAFile) {
  const test::TempDir folder;
  expect_refused(folder / "absent", ErrorKind::io, "CannotOpenFile");
  expect_refused(folder.path(), ErrorKind::bad_file, "NotAFile");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_refused(folder / "pipe", ErrorKind::bad_file, "NotAFile");  // and does not wait for it
  expect_refused("/dev/zero", ErrorKind::bad_file, "NotAFile");
}

TEST(MappedFile, MovingKeepsTheBytesWhereTheyAre) {
  const test::TempDir folder;
  write_letters(folder / "a", 100, 'a');
  write_letters(folder / "b", 200, 'b');
  MappedFile a = MappedFile::open(folder / "a");
  const std::byte* address = a.bytes().data();
  MappedFile moved = std::move(a);
  EXPECT_EQ(moved.bytes().data(), address);
  moved = MappedFile::open(folder / "b");
  EXPECT_EQ(moved.bytes().size(), 200u);
  EXPECT_EQ(moved.bytes()[0], std::byte{'b'});
}

TEST(MappedFile, StaysReadableWhenTheNameIsRemoved) {
  const test::TempDir folder;
  write_letters(folder / "a", 100, 'a');
  const MappedFile file = MappedFile::open(folder / "a");
  std::filesystem::remove(folder / "a");
  file.require_full_size();
  EXPECT_EQ(file.bytes()[99], std::byte{'a'});
}

TEST(MappedFile, ContainsOnlyItsOwnBytes) {
  const test::TempDir folder;
  write_letters(folder / "a", 100, 'a');
  const MappedFile file = MappedFile::open(folder / "a");
  const std::byte* begin = file.bytes().data();
  EXPECT_TRUE(file.contains(file.bytes()));
  EXPECT_TRUE(file.contains({begin + 100, size_t{0}}));
  EXPECT_FALSE(file.contains({begin + 1, size_t{100}}));
  EXPECT_FALSE(file.contains({begin - 1, size_t{1}}));
}

TEST(MappedFile, DropGivesBackMemoryAndTheBytesComeBackWhenTouched) {
  const test::TempDir folder;
  write_letters(folder / "a", 8 * kMiB, 'x');
  const MappedFile file = MappedFile::open(folder / "a");
  const auto is_x = [](std::byte b) { return b == std::byte{'x'}; };
  EXPECT_TRUE(std::ranges::all_of(file.bytes(), is_x));
  EXPECT_GE(resident_kib(file.bytes().data()), 8u * 1024);
  file.drop(file.bytes().subspan(100, 6 * kMiB));
  EXPECT_LE(resident_kib(file.bytes().data()), 2u * 1024 + 256);
  file.prefetch(file.bytes());
  EXPECT_TRUE(std::ranges::all_of(file.bytes(), is_x));
}

TEST(MappedFile, NoticesThatTheFileShrank) {
  const test::TempDir folder;
  write_letters(folder / "a", 100, 'a');
  const MappedFile file = MappedFile::open(folder / "a");
  file.require_full_size();
  std::filesystem::resize_file(folder / "a", 1000);
  file.require_full_size();  // longer is fine
  std::filesystem::resize_file(folder / "a", 99);
  try {
    file.require_full_size();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.code(), "FileShrank");
    EXPECT_NE(error.message().find("had 100 bytes when it was opened and has 99 now"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace maglio
