#include "base/utf8.h"

#include <cstdint>

namespace maglio {
namespace {

// The shape that a first byte announces. The second byte has a range of its own: that is what
// excludes overlong forms, surrogates and values above U+10FFFF (Unicode 15, table 3-7).
struct Lead {
  size_t size = 0;  // 0: no sequence starts with this byte
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {.size = 1};
  if (byte < 0xC2) return {};
  if (byte < 0xE0) return {.size = 2};
  if (byte == 0xE0) return {.size = 3, .second_min = 0xA0};
  if (byte == 0xED) return {.size = 3, .second_max = 0x9F};
  if (byte < 0xF0) return {.size = 3};
  if (byte == 0xF0) return {.size = 4, .second_min = 0x90};
  if (byte < 0xF4) return {.size = 4};
  if (byte == 0xF4) return {.size = 4, .second_max = 0x8F};
  return {};
}

}  // namespace

Utf8Step next_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.size == 1) return {byte(0), 1, Utf8State::whole};
  if (lead.size == 0) return {kReplacement, 1, Utf8State::broken};
  const size_t left = text.size() - at;
  char32_t code_point = byte(0) & (0x7Fu >> lead.size);
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == left) return {kReplacement, i, Utf8State::unfinished};
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte(i) < min || byte(i) > max) return {kReplacement, i, Utf8State::broken};
    code_point = code_point << 6 | (byte(i) & 0x3Fu);
  }
  return {code_point, lead.size, Utf8State::whole};
}

void append_utf8(std::string& text, char32_t code_point) {
  const auto put = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](unsigned shift) { put(0x80u | ((code_point >> shift) & 0x3Fu)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0u | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    put(0xE0u | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    put(0xF0u | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    if (step.state != Utf8State::whole) return false;
    at += step.size;
  }
  return true;
}

size_t complete_utf8_size(std::string_view text) {
  // A sequence has at most 4 bytes, so an unfinished one starts within the last 3.
  const size_t first = text.size() > 3 ? text.size() - 3 : 0;
  for (size_t at = first; at < text.size(); ++at) {
    const Utf8Step step = next_utf8(text, at);
    if (step.state == Utf8State::unfinished && at + step.size == text.size()) return at;
  }
  return text.size();
}

std::string replace_broken_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    if (step.state == Utf8State::whole) {
      out.append(text.substr(at, step.size));
    } else {
      append_utf8(out, kReplacement);
    }
    at += step.size;
  }
  return out;
}

}  // namespace maglio
