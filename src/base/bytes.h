// Reading bytes that may be hostile: a bounds-checked little-endian cursor, and checked arithmetic.
//
// Every count and length in a file is a claim. A ByteReader compares each claim with the bytes that
// are really left before anything is read or allocated, and refuses with an Error (bad_file,
// "Truncated") that says where. Products and sums of claims go through checked_mul and checked_add.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace maglio {

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// x rounded up to a multiple of `alignment`; nothing if that leaves 64 bits. Requires: a power
// of 2.
inline std::optional<uint64_t> checked_align(uint64_t x, uint64_t alignment) {
  const std::optional<uint64_t> end = checked_add(x, alignment - 1);
  return end ? std::optional(*end & ~(alignment - 1)) : std::nullopt;
}

template <class T>
concept WireNumber = std::integral<T> || std::floating_point<T>;

// The little-endian number stored at p, which need not be aligned. Requires: sizeof(T) bytes at p.
template <WireNumber T>
T load_le(const std::byte* p) {
  std::byte raw[sizeof(T)];
  for (size_t i = 0; i < sizeof(T); ++i) {
    raw[i] = p[std::endian::native == std::endian::little ? i : sizeof(T) - 1 - i];
  }
  T value;
  std::memcpy(&value, raw, sizeof(T));
  return value;
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::byte> as_byte_span(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Invariant: position() <= size of the bytes. Borrows the bytes; not for use by several threads.
class ByteReader {
 public:
  // `source` names the bytes in messages (a file's path).
  ByteReader(std::span<const std::byte> bytes, std::string source)
      : bytes_(bytes), source_(std::move(source)) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  const std::string& source() const { return source_; }

  // What is being read from here on, for messages: ("metadata key", "general.name"). Borrowed.
  void describe(std::string_view kind, std::string_view name = {}) {
    kind_ = kind;
    name_ = name;
  }
  // "model.gguf: metadata key 'general.name'": how a message about the current part begins.
  std::string where() const;

  // The next n bytes. Throws: Error bad_file "Truncated" if fewer are left.
  std::span<const std::byte> take(uint64_t n) {
    if (n > remaining()) fail_truncated(n);
    const std::span<const std::byte> part = bytes_.subspan(position_, static_cast<size_t>(n));
    position_ += part.size();
    return part;
  }

  template <WireNumber T>
  T read() {
    return load_le<T>(take(sizeof(T)).data());
  }

 private:
  [[noreturn]] void fail_truncated(uint64_t n_wanted) const;

  std::span<const std::byte> bytes_;
  std::string source_;
  size_t position_ = 0;
  std::string_view kind_ = "the beginning";
  std::string_view name_;
};

}  // namespace maglio
