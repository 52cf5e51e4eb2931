#include "chat/jinja/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace maglio::jinja {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return std::numeric_limits<int>::max();
}

// Digits with single underscores between them, as plain digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const bool between = i > 0 && i + 1 < text.size() && digit_value(text[i - 1]) < 10 &&
                         digit_value(text[i + 1]) < 10;
    if (!between) return std::nullopt;
  }
  return out;
}

// What int("..") reads: at least one digit, each below the base.
struct Whole {
  bool negative = false;
  std::string digits;
  int base = 10;
};

std::optional<Whole> read_integer(std::string_view text, int base) {
  const auto plain = without_underscores(without_blanks(text));
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const auto prefixed = [&](int of, char lower, char upper) {
    if ((base != of && base != 0) || digits.size() < 2 || digits[0] != '0') return;
    if (digits[1] != lower && digits[1] != upper) return;
    digits.remove_prefix(2);
    base = of;
  };
  prefixed(16, 'x', 'X');
  prefixed(8, 'o', 'O');
  prefixed(2, 'b', 'B');
  if (base == 0) base = 10;
  const bool fits = std::ranges::all_of(digits, [&](char c) { return digit_value(c) < base; });
  if (digits.empty() || !fits) return std::nullopt;
  // sys.int_info.default_max_str_digits: Python reads no more, but for bases that are powers of
  // two.
  constexpr size_t kMostDigits = 4300;
  if (digits.size() > kMostDigits && (base & (base - 1)) != 0) return std::nullopt;
  return Whole{negative, std::string(digits), base};
}

}  // namespace

std::string print(Int n) {
  return fmt::format("{}", n);
}

std::string print(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, fault] =
      std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}e{}{:02}", text.substr(0, e), exponent < 0 ? '-' : '+',
                       std::abs(exponent));
  }
  const bool negative = text[0] == '-';
  std::string digits;
  for (char c : text.substr(negative, e - negative)) {
    if (c != '.') digits += c;
  }
  if (exponent < 0) {
    digits.insert(0, static_cast<size_t>(-exponent), '0');
    digits.insert(1, ".");
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (digits.size() < whole) digits.append(whole - digits.size(), '0');
    digits.insert(whole, ".");
    if (digits.back() == '.') digits += '0';
  }
  return negative ? "-" + digits : digits;
}

std::optional<Int> parse_integer(std::string_view text, int base) {
  const auto whole = read_integer(text, base);
  if (!whole) return std::nullopt;
  Int n = 0;
  for (char c : whole->digits) {
    const Int digit = whole->negative ? -digit_value(c) : digit_value(c);
    if (__builtin_mul_overflow(n, Int{whole->base}, &n) || __builtin_add_overflow(n, digit, &n)) {
      return std::nullopt;
    }
  }
  return n;
}

bool is_integer(std::string_view text, int base) {
  return read_integer(text, base).has_value();
}

std::optional<Int> exact_integer(double x) {
  if (std::floor(x) != x || !(std::fabs(x) < 0x1p127)) return std::nullopt;
  return static_cast<Int>(x);
}

std::optional<double> parse_real(std::string_view text) {
  const auto plain = without_underscores(without_blanks(text));
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  if (rest.starts_with('+')) rest.remove_prefix(1);
  double x = 0;
  const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), x);
  if (rest.empty() || end != rest.data() + rest.size()) return std::nullopt;
  if (fault == std::errc::result_out_of_range)
    return std::strtod(std::string(rest).c_str(), nullptr);
  return fault == std::errc() ? std::optional(x) : std::nullopt;
}

}  // namespace maglio::jinja
