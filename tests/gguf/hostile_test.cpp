// Every malformed file ends in an Error: of the expected code, quickly, with memory flat.
//
// Bytes are parsed from a buffer of exactly their size, so that AddressSanitizer sees a read of one
// byte too many, and opened as a file. The program counts what operator new hands out.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "support/cpu_seconds.h"
#include "support/gguf_builder.h"
#include "support/hostile_gguf.h"
#include "support/temp_dir.h"

namespace {

std::atomic<size_t> allocated_bytes{0};
std::atomic<size_t> peak_bytes{0};

}  // namespace

void* operator new(size_t size) {
  void* p = std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  const size_t now = allocated_bytes += malloc_usable_size(p);
  if (now > peak_bytes) peak_bytes = now;
  return p;
}

void operator delete(void* p) noexcept {
  if (p != nullptr) allocated_bytes -= malloc_usable_size(p);
  std::free(p);
}

void operator delete(void* p, size_t) noexcept {
  operator delete(p);
}

namespace maglio {
namespace {

using test::Bytes;
using test::cpu_seconds;
using test::GgufBuilder;

// What the reader may allocate: a multiple of what the file holds, and a message.
size_t allowed_bytes(size_t n_file_bytes) {
  return 16 * 1024 + 16 * n_file_bytes;
}

// Runs f; returns the most bytes that were allocated at a time beyond those at the start.
template <class F>
size_t peak_of(F&& f) {
  const size_t before = allocated_bytes;
  peak_bytes = before;
  f();
  return peak_bytes - before;
}

// The error in which reading the bytes ends, from memory and as a file. Fails if there is none.
Error refusal(const Bytes& bytes, const std::string& name) {
  static const test::TempDir folder;
  std::filesystem::remove(folder / "model.gguf");  // faster than to overwrite it
  test::write_file(folder / "model.gguf", bytes);
  Error error(ErrorKind::cancelled, "", "");
  for (const bool from_memory : {true, false}) {
    const double start = cpu_seconds();
    const size_t peak = peak_of([&] {
      try {
        const gguf::File file =
            from_memory ? gguf::File::parse(bytes) : gguf::File::open(folder / "model.gguf");
        ADD_FAILURE() << name << " was accepted";
      } catch (const Error& refused) {
        error = refused;
      }
    });
    EXPECT_LE(peak, allowed_bytes(bytes.size())) << name;
    EXPECT_LT(cpu_seconds() - start, 0.1) << name;
  }
  return error;
}

class HostileGguf : public testing::TestWithParam<test::HostileFile> {};

TEST_P(HostileGguf, IsRefusedWithItsOwnError) {
  const test::HostileFile& file = GetParam();
  const Error error = refusal(file.bytes, file.name);
  EXPECT_EQ(to_string(error.kind()), to_string(file.kind));
  EXPECT_EQ(error.code(), file.code);
  EXPECT_NE(error.message().find(file.says), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("model.gguf"), std::string::npos) << error.message();
  EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
}

INSTANTIATE_TEST_SUITE_P(Files,
                         HostileGguf,
                         testing::ValuesIn(test::hostile_files()),
                         [](const auto& file) { return file.param.name; });

TEST(TruncatedGguf, EveryCutIsRefused) {
  size_t n_files = 0;
  for (const bool with_tensors : {true, false}) {
    GgufBuilder builder = test::sample_gguf();
    if (!with_tensors) builder = GgufBuilder().u32("k", 1).strings("s", {"ab", "", "c"});
    const Bytes whole = builder.bytes();
    for (size_t n = 0; n < whole.size(); ++n) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      const Error error = refusal(cut, fmt::format("cut at {}", n));
      ASSERT_EQ(error.code(), "Truncated") << n;
      ASSERT_EQ(error.kind(), ErrorKind::bad_file) << n;
      ++n_files;
    }
    gguf::File::parse(whole);  // uncut it is fine
  }
  EXPECT_GT(n_files, 1000u);
}

// The smallest records there can be: the most work and memory for a byte of the file.
TEST(TinyRecords, TakeMemoryInProportionToTheFile) {
  constexpr size_t kMany = 100'000;
  Bytes bytes;
  for (const char c : gguf::kMagic) test::append_number(bytes, c);
  test::append_number(bytes, uint32_t{3});
  test::append_number(bytes, uint64_t{kMany});
  test::append_number(bytes, uint64_t{kMany});
  for (size_t i = 0; i < kMany; ++i) {
    test::append_string(bytes, fmt::format("{:x}", i));
    test::append_number(bytes, static_cast<uint32_t>(gguf::ValueType::u8));
    test::append_number(bytes, uint8_t{0});
  }
  for (size_t i = 0; i < kMany; ++i) {
    test::append_string(bytes, fmt::format("{:x}", i));
    test::append_number(bytes, uint32_t{1});
    test::append_number(bytes, uint64_t{0});
    test::append_number(bytes, uint32_t{0});
    test::append_number(bytes, uint64_t{0});
  }
  const size_t peak = peak_of([&] { gguf::File::parse(bytes); });
  RecordProperty("bytes_per_file_byte", std::to_string(peak / bytes.size()));
  EXPECT_LE(peak, allowed_bytes(bytes.size()));
}

// Reads all that an accepted file offers, as a careless caller would.
uint64_t read_everything(const gguf::File& file) {
  uint64_t sum = 0;
  const gguf::Metadata& metadata = file.metadata();
  const auto attempt = [&](auto&& getter) {
    try {
      getter();
    } catch (const Error&) {
      ++sum;
    }
  };
  for (const auto& [key, value] : metadata.entries()) {
    sum += key.size() + describe(value).size();
    attempt([&] { sum += metadata.uint(key).value_or(0); });
    attempt([&] { sum += metadata.number(key) > 0; });
    attempt([&] { sum += metadata.boolean(key).value_or(false); });
    attempt([&] { sum += metadata.string(key)->size(); });
    attempt([&] { sum += metadata.floats(key)->size(); });
    attempt([&] { sum += metadata.ints(key)->size(); });
    attempt([&] { sum += metadata.uints(key)->size(); });
    attempt([&] {
      const gguf::StringArray texts = metadata.strings(key).value();
      for (const std::string_view text : texts) {
        for (const char c : text) sum += static_cast<unsigned char>(c);
      }
    });
  }
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    sum += file.require(tensor.name).n_values();
    for (const std::byte b : tensor.data) sum += static_cast<uint64_t>(b);
    file.prefetch(tensor.data);
    file.drop_pages(tensor.data);
  }
  return sum;
}

// Bytes changed at random, mostly in the header, mostly to values that numbers break on.
void mutate(Bytes& bytes, size_t n_header_bytes, std::mt19937_64& random) {
  static constexpr uint8_t kEdges[] = {0x00, 0x01, 0x07, 0x09, 0x0d, 0x20, 0x7f, 0x80, 0xff};
  const size_t n_changes = 1 + random() % 4;
  for (size_t i = 0; i < n_changes; ++i) {
    const size_t at = random() % (random() % 8 == 0 ? bytes.size() : n_header_bytes);
    switch (random() % 3) {
      case 0:
        bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
        break;
      case 1:
        bytes[at] = static_cast<std::byte>(kEdges[random() % std::size(kEdges)]);
        break;
      default:
        bytes[at] = static_cast<std::byte>(random() % 256);
    }
  }
  if (random() % 16 == 0) bytes.resize(random() % (bytes.size() + 1));
}

TEST(MutatedGguf, EitherOpensOrEndsInAnError) {
  std::mt19937_64 random(20240607);
  const GgufBuilder seeds[] = {
      test::sample_gguf(),
      GgufBuilder().alignment(64).tensor("t", DType::Q4_K, {256, 2}, Bytes(288)),
      GgufBuilder().strings("tokenizer.ggml.tokens", {"a", "b", "c"}).i32s("types", {1, 1, 3}),
  };
  size_t n_refused = 0;
  size_t n_opened = 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < 6000; ++i) {
    const GgufBuilder& seed = seeds[i % std::size(seeds)];
    Bytes bytes = seed.bytes();
    mutate(bytes, seed.header_bytes(), random);
    bytes.shrink_to_fit();
    const size_t peak = peak_of([&] {
      try {
        sum += read_everything(gguf::File::parse(bytes));
        ++n_opened;
      } catch (const Error& error) {
        ++n_refused;
        ASSERT_TRUE(error.kind() == ErrorKind::bad_file || error.kind() == ErrorKind::unsupported);
      }
    });
    ASSERT_LE(peak, allowed_bytes(bytes.size())) << i;
  }
  EXPECT_GT(n_refused, 1000u);
  EXPECT_GT(n_opened, 500u);
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace maglio
