// A string that remembers, byte by byte, who wrote it.
//
// A chat template mixes its own words with what users typed, and a program may slice, join, replace
// and print both before they reach the prompt. The origin travels with every byte, so the end of
// the way still knows which "<|im_end|>" is the template's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace maglio::jinja {

enum class Origin : uint8_t {
  trusted,  // the template's own text
  said,     // from a message, a tool, an argument: never a control token
};

class Text {
 public:
  Text() = default;
  Text(std::string_view bytes, Origin origin) { append(bytes, origin); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }  // [bytes]
  bool empty() const { return bytes_.empty(); }
  // Requires: at < size().
  Origin origin(size_t at) const { return static_cast<Origin>(origins_[at]); }

  Text& append(std::string_view bytes, Origin origin) {
    bytes_ += bytes;
    origins_.append(bytes.size(), static_cast<char>(origin));
    return *this;
  }
  Text& append(const Text& other) {
    bytes_ += other.bytes_;
    origins_ += other.origins_;
    return *this;
  }
  // `n` bytes of another text from byte `begin`. Requires: they are there.
  Text& append_part(const Text& other, size_t begin, size_t n) {
    bytes_.append(other.bytes_, begin, n);
    origins_.append(other.origins_, begin, n);
    return *this;
  }
  // Bytes that stand for as many of another text, from its byte `begin`. Requires: they are there.
  Text& append_for(std::string_view bytes, const Text& other, size_t begin) {
    bytes_ += bytes;
    origins_.append(other.origins_, begin, bytes.size());
    return *this;
  }
  // Turns round what begins at byte `begin`. Requires: begin <= size().
  void reverse(size_t begin) {
    const auto from = static_cast<std::ptrdiff_t>(begin);
    std::reverse(bytes_.begin() + from, bytes_.end());
    std::reverse(origins_.begin() + from, origins_.end());
  }
  // `n` bytes from byte `begin`, or what there is of them. Requires: begin <= size().
  Text part(size_t begin, size_t n = std::string::npos) const {
    Text out;
    out.bytes_ = bytes_.substr(begin, n);
    out.origins_ = origins_.substr(begin, n);
    out.markup = markup;
    return out;
  }

  // Python's Markup: marked safe for HTML. Where such a string meets another one in a sum, the
  // other is escaped; templates that say |safe are rendered so by the reference.
  bool markup = false;

 private:
  std::string bytes_;
  std::string origins_;  // [size()], one Origin a byte
};

// Of a text as one thing: said where any byte of it is.
inline Origin origin_of(const Text& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.origin(i) == Origin::said) return Origin::said;
  }
  return Origin::trusted;
}

}  // namespace maglio::jinja
