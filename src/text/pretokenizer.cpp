#include "text/pretokenizer.h"

#include <cstddef>
#include <cstdint>

#include "base/utf8.h"
#include "text/unicode.h"

namespace maglio {
namespace {

// One character of the text, or the end of it (size 0, in no class).
struct Char {
  char32_t code_point = 0;
  size_t size = 0;  // [bytes]
  uint8_t bits = 0;

  bool exists() const { return size > 0; }
  bool is_letter() const { return bits & kLetter; }
  bool is_number() const { return bits & kNumber; }
  bool is_space() const { return bits & kWhiteSpace; }
  bool is_newline() const { return exists() && (code_point == '\r' || code_point == '\n'); }
  bool is_ascii_digit() const { return exists() && code_point >= '0' && code_point <= '9'; }
  // [^\s\p{L}\p{N}]
  bool is_other() const { return exists() && !(bits & (kLetter | kNumber | kWhiteSpace)); }
  // [\p{P}$+<=>^~|], the characters that the standard rules set apart.
  bool is_set_apart() const {
    return exists() && ((bits & kPunctuation) ||
                        (code_point < 0x80 &&
                         std::string_view("$+<=>^~|").find(static_cast<char>(code_point)) !=
                             std::string_view::npos));
  }
};

using Test = bool (Char::*)() const;

Char char_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const Utf8Step step = next_utf8(text, at);
  const size_t size = step.state == Utf8State::whole ? step.size : 1;
  return {step.code_point, size, char_class(step.code_point)};
}

// The end of the run of characters that pass the test, from byte `at` on.
size_t end_of_run(std::string_view text, size_t at, Test test) {
  for (Char c = char_at(text, at); (c.*test)(); c = char_at(text, at)) at += c.size;
  return at;
}

enum class LetterCase { lower, any };

// Bytes of 's 't 'm 'd 're 've 'll at the start of the text, or 0. Only the ASCII apostrophe
// counts.
size_t contraction_size(std::string_view text, LetterCase letters) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const auto letter = [&](size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return letters == LetterCase::any && c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  };
  const char a = letter(1);
  const char b = letter(2);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return 3;
  return 0;
}

enum class Newlines { plain, end_chunk };

// \s*[\r\n]+ (with end_chunk) | \s+(?!\S) | \s+ : a run before a word leaves it its last character.
size_t space_size(std::string_view text, Newlines newlines) {
  size_t end = 0;
  size_t last = 0;           // where the last character of the run starts
  size_t after_newline = 0;  // where the last newline of the run ends
  for (Char c = char_at(text, 0); c.is_space(); c = char_at(text, end)) {
    last = end;
    end += c.size;
    if (c.is_newline()) after_newline = end;
  }
  if (newlines == Newlines::end_chunk && after_newline > 0) return after_newline;
  return last > 0 && end < text.size() ? last : end;
}

// qwen2 and llama_bpe: bytes of the first chunk of a text that is not empty.
size_t word_size(std::string_view text, size_t max_digits) {
  if (const size_t size = contraction_size(text, LetterCase::any)) return size;
  const Char first = char_at(text, 0);
  const Char second = char_at(text, first.size);
  if (first.is_letter() || (!first.is_newline() && !first.is_number() && second.is_letter())) {
    return end_of_run(text, first.size, &Char::is_letter);
  }
  if (first.is_number()) {
    size_t end = 0;
    for (size_t n = 0; n < max_digits; ++n) {
      const Char c = char_at(text, end);
      if (!c.is_number()) break;
      end += c.size;
    }
    return end;
  }
  const bool lead_space = first.code_point == ' ' && second.is_other();
  if (lead_space || first.is_other()) {
    const size_t end = end_of_run(text, first.size, &Char::is_other);
    return end_of_run(text, end, &Char::is_newline);
  }
  return space_size(text, Newlines::end_chunk);
}

size_t gpt2_word_size(std::string_view text) {
  if (const size_t size = contraction_size(text, LetterCase::lower)) return size;
  const Char first = char_at(text, 0);
  const size_t start = first.code_point == ' ' ? first.size : 0;
  const Char lead = char_at(text, start);
  for (const Test test : {&Char::is_letter, &Char::is_number, &Char::is_other}) {
    if ((lead.*test)()) return end_of_run(text, start, test);
  }
  return space_size(text, Newlines::plain);
}

void split_gpt2(std::string_view text, std::vector<std::string_view>& chunks) {
  while (!text.empty()) {
    const size_t size = gpt2_word_size(text);
    chunks.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

void split_words(std::string_view text, size_t max_digits, std::vector<std::string_view>& chunks) {
  while (!text.empty()) {
    const size_t size = word_size(text, max_digits);
    chunks.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
}

// Alternates between runs of characters that pass the test and runs that do not.
template <class Inside, class Outside>
void for_each_run(std::string_view text, Test test, Inside&& inside, Outside&& outside) {
  size_t at = 0;
  while (at < text.size()) {
    const bool is_inside = (char_at(text, at).*test)();
    size_t end = at;
    for (Char c = char_at(text, end); c.exists() && (c.*test)() == is_inside;) {
      end += c.size;
      c = char_at(text, end);
    }
    const std::string_view run = text.substr(at, end - at);
    is_inside ? inside(run) : outside(run);
    at = end;
  }
}

void split_smollm(std::string_view text, std::vector<std::string_view>& chunks) {
  const auto each_alone = [&](std::string_view numbers) {
    for (size_t at = 0; at < numbers.size();) {
      const size_t size = char_at(numbers, at).size;
      chunks.push_back(numbers.substr(at, size));
      at += size;
    }
  };
  for_each_run(text, &Char::is_number, each_alone, [&](auto run) { split_gpt2(run, chunks); });
}

// [0-9][0-9][0-9] over a run of numbers: the leftmost three in a row, again and again.
void split_digits_by_three(std::string_view numbers, std::vector<std::string_view>& chunks) {
  const auto keep = [&](std::string_view rest) {
    if (!rest.empty()) chunks.push_back(rest);
  };
  size_t kept = 0;  // start of what no chunk holds yet
  size_t n_digits = 0;
  for (size_t at = 0; at < numbers.size();) {
    const Char c = char_at(numbers, at);
    at += c.size;
    n_digits = c.is_ascii_digit() ? n_digits + 1 : 0;
    if (n_digits < 3) continue;
    keep(numbers.substr(kept, at - 3 - kept));
    keep(numbers.substr(at - 3, 3));
    kept = at;
    n_digits = 0;
  }
  keep(numbers.substr(kept));
}

void split_standard(std::string_view text, std::vector<std::string_view>& chunks) {
  const auto split_run = [&](std::string_view run) {
    std::vector<std::string_view> words;
    split_gpt2(run, words);
    for (std::string_view word : words) {
      for_each_run(
          word, &Char::is_number, [&](auto numbers) { split_digits_by_three(numbers, chunks); },
          [&](auto rest) { chunks.push_back(rest); });
    }
  };
  for_each_run(text, &Char::is_set_apart, split_run, split_run);
}

}  // namespace

std::vector<std::string_view> split_chunks(PreRules rules, std::string_view text) {
  std::vector<std::string_view> chunks;
  chunks.reserve(text.size() / 4);
  switch (rules) {
    case PreRules::qwen2:
      split_words(text, 1, chunks);
      break;
    case PreRules::llama_bpe:
      split_words(text, 3, chunks);
      break;
    case PreRules::gpt2:
      split_gpt2(text, chunks);
      break;
    case PreRules::smollm:
      split_smollm(text, chunks);
      break;
    case PreRules::standard:
      split_standard(text, chunks);
      break;
  }
  return chunks;
}

}  // namespace maglio
