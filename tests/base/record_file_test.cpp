#include "base/record_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "maglio/error.h"
#include "support/error_code.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

const std::string kHead = "some head";

std::span<const std::byte> head() {
  return as_byte_span(kHead);
}

// The payloads of all whole records.
std::vector<std::string> texts_in(std::span<const std::byte> file,
                                  RecordPosition at = first_record(head())) {
  std::vector<std::string> texts;
  while (const auto payload = next_record(file, at)) texts.emplace_back(as_text(*payload));
  return texts;
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  return {file.bytes().begin(), file.bytes().end()};
}

using test::code_of;

const std::vector<std::string> kThree = {"first", "", std::string(1000, 'x')};

void write_three(const std::filesystem::path& path) {
  RecordFile file = RecordFile::open(path);
  file.begin(head());
  for (const std::string& text : kThree) file.append(as_byte_span(text));
}

TEST(RecordFile, RecordsComeBackInOrder) {
  const test::TempDir dir;
  write_three(dir / "f");
  EXPECT_EQ(texts_in(bytes_of(dir / "f")), kThree);
}

TEST(RecordFile, NeverTakesThePlaceOfWhatIsNoFile) {
  const test::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(dir / "folder");
  for (const char* name : {"pipe", "folder"}) {
    const auto replace = [&] { RecordFile::create(dir / name, head()).give_name(); };
    EXPECT_EQ(code_of(replace), "CannotWriteFile");
  }
  EXPECT_TRUE(std::filesystem::is_fifo(dir / "pipe"));
}

TEST(RecordFile, CutAnywhereItHoldsItsWholeRecords) {
  const test::TempDir dir;
  write_three(dir / "f");
  const auto bytes = bytes_of(dir / "f");
  const size_t ends[] = {kHead.size() + 16 + 5, kHead.size() + 16 + 5 + 16, bytes.size()};
  for (size_t n = 0; n <= bytes.size(); ++n) {
    const auto whole =
        static_cast<size_t>(std::ranges::count_if(ends, [n](size_t end) { return end <= n; }));
    EXPECT_EQ(texts_in(std::span(bytes).first(n)).size(), whole) << n;
  }
}

TEST(RecordFile, AChangedBitEndsItBeforeItsRecord) {
  const test::TempDir dir;
  write_three(dir / "f");
  auto bytes = bytes_of(dir / "f");
  for (size_t at = kHead.size(); at < kHead.size() + 16 + 5; ++at) {
    bytes[at] ^= std::byte{4};
    EXPECT_TRUE(texts_in(bytes).empty()) << at;
    bytes[at] ^= std::byte{4};
  }
  EXPECT_EQ(texts_in(bytes).size(), 3u);
}

TEST(RecordFile, ARecordCountsOnlyBehindThoseBeforeIt) {
  const test::TempDir dir;
  write_three(dir / "f");
  const auto bytes = bytes_of(dir / "f");
  std::vector<std::byte> without_first(bytes.begin(), bytes.begin() + 9);
  without_first.insert(without_first.end(), bytes.begin() + 9 + 16 + 5, bytes.end());
  EXPECT_TRUE(texts_in(without_first).empty());
}

TEST(RecordFile, AWriterGoesOnBehindTheLastWholeRecord) {
  const test::TempDir dir;
  write_three(dir / "f");
  std::filesystem::resize_file(dir / "f", bytes_of(dir / "f").size() - 1);
  {
    RecordFile file = RecordFile::open(dir / "f");
    RecordPosition at = first_record(head());
    const auto bytes = bytes_of(dir / "f");
    while (next_record(bytes, at)) {
    }
    file.go_on(at);
    file.append(as_byte_span("new"));
  }
  EXPECT_EQ(texts_in(bytes_of(dir / "f")), (std::vector<std::string>{"first", "", "new"}));
}

TEST(RecordFile, ASecondWriterIsRefused) {
  const test::TempDir dir;
  {
    const RecordFile file = RecordFile::open(dir / "f");
    EXPECT_EQ(code_of([&] { RecordFile::open(dir / "f"); }), "FileInUse");
  }
  EXPECT_EQ(code_of([&] { RecordFile::open(dir / "f"); }), "none");
}

TEST(RecordFile, AFileIsNamedWhenItIsComplete) {
  const test::TempDir dir;
  write_three(dir / "f");
  {
    RecordFile file = RecordFile::create(dir / "f", head());
    file.append(as_byte_span("other"));
    EXPECT_EQ(texts_in(bytes_of(dir / "f")), kThree);
  }
  EXPECT_EQ(texts_in(bytes_of(dir / "f")), kThree);
  RecordFile file = RecordFile::create(dir / "f", head());
  file.append(as_byte_span("other"));
  file.give_name();
  file.append(as_byte_span("more"));
  EXPECT_EQ(texts_in(bytes_of(dir / "f")), (std::vector<std::string>{"other", "more"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

TEST(RecordFile, NobodyElseMayReadIt) {
  const test::TempDir dir;
  write_three(dir / "f");
  RecordFile::create(dir / "g", head()).give_name();
  for (const char* name : {"f", "g"}) {
    EXPECT_EQ(std::filesystem::status(dir / name).permissions() & std::filesystem::perms(0077),
              std::filesystem::perms::none);
  }
}

TEST(RecordFile, FoldersAreRefused) {
  const test::TempDir dir;
  EXPECT_EQ(code_of([&] { RecordFile::open(dir.path()); }), "CannotOpenFile");
  try {
    RecordFile::create(dir / "no/such/file", head());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "CannotWriteFile");
    EXPECT_NE(error.message().find("there is no folder"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace maglio
