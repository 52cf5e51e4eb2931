#include "base/positional_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/page_range.h"
#include "maglio/error.h"
#include "support/error_code.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

class PositionalFileTest : public testing::TestWithParam<ReadMode> {
 protected:
  PositionalFileTest() {
    for (size_t i = 0; i < 20'001; ++i) text_ += static_cast<char>('a' + i * i % 23);
    std::ofstream(path_, std::ios::binary) << text_;
  }
  std::string read(const PositionalFile& file, uint64_t offset, size_t n) {
    EXPECT_LE(PositionalFile::buffer_bytes(n), buffer_.size());
    const PartRead part = file.read(offset, n, {buffer_.data(), PositionalFile::buffer_bytes(n)});
    EXPECT_GE(part.n_transferred, n);
    return {reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size()};
  }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "file";
  std::string text_;
  PageRange buffer_{size_t{1} << 20};
};

TEST_P(PositionalFileTest, PartsAnywhereAreWhatTheFileHolds) {
  const PositionalFile file = PositionalFile::open(MappedFile::open(path_), GetParam());
  for (const uint64_t offset : {0, 1, 4095, 4096, 4097, 16'384, 20'000}) {
    for (const size_t n : {1, 2, 4095, 4096, 4097, 9000}) {
      if (offset + n > text_.size()) continue;
      EXPECT_EQ(read(file, offset, n), text_.substr(offset, n)) << offset << " " << n;
    }
  }
  EXPECT_EQ(read(file, 0, text_.size()), text_) << "to the last byte";
}

TEST_P(PositionalFileTest, WhatTheFileDoesNotHoldIsAnErrorThatSaysWhere) {
  const PositionalFile file = PositionalFile::open(MappedFile::open(path_), GetParam());
  for (const uint64_t offset : {20'000, 20'001, 20'480, 1'000'000}) {
    try {
      (void)read(file, offset, 2);
      ADD_FAILURE() << offset;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "ShortRead");
      EXPECT_NE(error.message().find("expected 2 bytes at " + std::to_string(offset)),
                std::string::npos)
          << error.message();
    }
  }
}

TEST_P(PositionalFileTest, IsTheFileThatIsMappedWhateverHasItsName) {
  const MappedFile mapped = MappedFile::open(path_);
  std::filesystem::rename(path_, dir_ / "elsewhere");
  std::ofstream(path_, std::ios::binary) << std::string(text_.size(), '-');
  const PositionalFile file = PositionalFile::open(mapped, GetParam());
  EXPECT_EQ(read(file, 100, 50), text_.substr(100, 50));
}

TEST_P(PositionalFileTest, AFileThatWasCutAndIsWholeAgainIsReadAgain) {
  const PositionalFile file = PositionalFile::open(MappedFile::open(path_), GetParam());
  std::filesystem::resize_file(path_, 5000);
  EXPECT_EQ(test::code_of([&] { (void)read(file, 4000, 2000); }), "ShortRead");
  std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out) << text_;
  EXPECT_EQ(read(file, 4000, 2000), text_.substr(4000, 2000));
}

INSTANTIATE_TEST_SUITE_P(,
                         PositionalFileTest,
                         testing::Values(ReadMode::direct, ReadMode::buffered),
                         [](const auto& mode) {
                           return mode.param == ReadMode::direct ? "Direct" : "Buffered";
                         });

}  // namespace
}  // namespace maglio
