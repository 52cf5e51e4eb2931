#include "chat/jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "chat/jinja/attributes.h"
#include "chat/jinja/number_text.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

constexpr size_t kMaxWidth = 1u << 16;

// The common core of both: [[fill]align][sign][#][0][width][,][.precision][type].
struct Spec {
  std::string fill = " ";
  Origin fill_origin = Origin::trusted;
  char align = '\0';  // < > ^ =
  char sign = '-';
  bool alternate = false;  // #
  bool commas = false;
  size_t width = 0;
  std::optional<size_t> precision = {};
  char type = '\0';
};

size_t read_number(Meter& meter, std::string_view text, size_t& at) {
  size_t n = 0;
  while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) {
    n = n * 10 + static_cast<size_t>(text[at++] - '0');
    if (n > kMaxWidth) meter.fail("format: a width or a precision that is too large");
  }
  return n;
}

std::string with_commas(std::string digits) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = end; at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string in_base(Int n, unsigned base, bool upper) {
  const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), digits[n % base]);
    n /= base;
  } while (n > 0);
  return out;
}

// The digits of a number without its sign.
std::string magnitude(Meter& meter, const Value& value, const Spec& spec) {
  const auto whole = value.as_integer();
  const auto precision = static_cast<int>(spec.precision.value_or(6));
  const std::string_view kWhole("dixXobcu");
  if (whole && (spec.type == '\0' || kWhole.find(spec.type) != kWhole.npos)) {
    Int n = *whole;
    if (n < 0 && __builtin_sub_overflow(Int{0}, *whole, &n)) {
      meter.fail("format: the number is too large");
    }
    const char type = spec.type;
    if (type == 'x' || type == 'X')
      return (spec.alternate ? "0x" : "") + in_base(n, 16, type == 'X');
    if (type == 'o') return (spec.alternate ? "0o" : "") + in_base(n, 8, false);
    if (type == 'b') return (spec.alternate ? "0b" : "") + in_base(n, 2, false);
    return print(n);
  }
  const auto number = value.as_number();
  if (!number) meter.fail(fmt::format("format: expected a number, found a {}", value.type_name()));
  const double x = std::fabs(*number);
  switch (spec.type) {
    case 'd':
    case 'i':
    case 'u':
      return fmt::format("{:.0f}", std::trunc(x));
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", x, precision);
    case 'e':
      return fmt::format("{:.{}e}", x, precision);
    case 'E':
      return fmt::format("{:.{}E}", x, precision);
    case 'g':
      return fmt::format("{:.{}g}", x, std::max(precision, 1));
    case 'G':
      return fmt::format("{:.{}G}", x, std::max(precision, 1));
    case '%':
      return fmt::format("{:.{}f}%", x * 100, precision);
    case '\0':
      if (spec.precision) return fmt::format("{:.{}g}", x, std::max(precision, 1));
      return print(x);
    default:
      meter.fail(fmt::format("format: no way to print a number as '{}'", spec.type));
  }
}

Text padded(const Text& text, const Spec& spec, char natural) {
  const size_t n = count_characters(text.bytes());
  if (n >= spec.width) return text;
  const size_t missing = spec.width - n;
  const char align = spec.align ? spec.align : natural;
  const size_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  Text out;
  for (size_t i = 0; i < left; ++i) out.append(spec.fill, spec.fill_origin);
  out.append(text);
  for (size_t i = left; i < missing; ++i) out.append(spec.fill, spec.fill_origin);
  return out;
}

Text number_text(Meter& meter, const Value& value, const Spec& spec) {
  std::string digits = magnitude(meter, value, spec);
  if (spec.commas) digits = with_commas(std::move(digits));
  const auto number = value.as_number().value_or(0);
  std::string sign = number < 0 || (number == 0 && std::signbit(number)) ? "-"
                     : spec.sign == '+'                                  ? "+"
                     : spec.sign == ' '                                  ? " "
                                                                         : "";
  if (spec.align == '=') {
    std::string fill;
    while (sign.size() + fill.size() + digits.size() < spec.width) fill += spec.fill;
    digits.insert(0, fill);
  }
  return padded(Text(sign + digits, std::max(value.origin(), spec.fill_origin)), spec, '>');
}

Text string_text(Meter& meter, Text text, const Spec& spec) {
  meter.text(text.size());  // however little is left of it
  if (spec.precision) text = slice(text, 0, static_cast<int64_t>(*spec.precision), 1);
  return padded(text, spec, '<');
}

class Percent {
 public:
  Percent(Meter& meter, const Text& pattern, const Value& values)
      : meter_(meter), pattern_(pattern), values_(values) {
    const Sequence* s = values.as_sequence();
    if (s && s->form == Sequence::Form::tuple) {
      items_ = s->items;
    } else {
      items_ = {values};
    }
  }

  Text run() {
    const std::string& bytes = pattern_.bytes();
    Text out;
    while (at_ < bytes.size()) {
      const size_t sign = std::min(bytes.find('%', at_), bytes.size());
      meter_.grow(out.size(), sign - at_);
      out.append(pattern_.part(at_, sign - at_));
      at_ = sign;
      if (at_ == bytes.size()) break;
      Text piece = conversion();
      meter_.grow(out.size(), piece.size());
      out.append(piece);
    }
    if (!by_name_ && next_ < items_.size() && !values_.is_dict()) {
      meter_.fail("not all arguments were converted by the format");
    }
    return out;
  }

 private:
  char peek() const {
    if (at_ >= pattern_.size()) meter_.fail("an incomplete format");
    return pattern_.bytes()[at_];
  }

  Value argument(const std::optional<std::string>& name) {
    if (name) {
      by_name_ = true;
      const Dict* dict = values_.as_dict();
      const Value* found = dict ? dict->find(*name) : nullptr;
      if (!found) meter_.fail(fmt::format("format: there is no value named '{}'", *name));
      return *found;
    }
    if (next_ >= items_.size()) meter_.fail("not enough arguments for the format");
    return items_[next_++];
  }

  Text conversion() {
    ++at_;
    std::optional<std::string> name;
    if (peek() == '(') {
      const size_t end = pattern_.bytes().find(')', at_);
      if (end == std::string::npos) meter_.fail("format: a name without its ')'");
      name = pattern_.bytes().substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    }
    Spec spec;
    for (; std::string_view("#0- +").find(peek()) != std::string_view::npos; ++at_) {
      const char flag = peek();
      if (flag == '#') spec.alternate = true;
      if (flag == '-') spec.align = '<';
      if (flag == '0' && spec.align != '<') spec.align = '=', spec.fill = "0";
      if (flag == '+' || flag == ' ') spec.sign = flag;
    }
    if (spec.align == '<') spec.fill = " ";
    spec.width = read_number(meter_, pattern_.bytes(), at_);
    if (peek() == '.') spec.precision = read_number(meter_, pattern_.bytes(), ++at_);
    while (peek() == 'l' || peek() == 'h' || peek() == 'L') ++at_;
    spec.type = pattern_.bytes()[at_++];
    if (spec.type == '%') return Text("%", pattern_.origin(at_ - 1));
    return converted(argument(name), spec);
  }

  Text converted(const Value& value, Spec spec) {
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      if (spec.align == '=') spec.align = '\0', spec.fill = " ";
      if (!spec.align) spec.align = '>';
      return string_text(meter_, spec.type == 's' ? to_text(meter_, value) : to_repr(meter_, value),
                         spec);
    }
    const Text* letter = value.as_string();
    if (spec.type == 'c' && letter && count_characters(letter->bytes()) == 1) {
      return padded(*letter, spec, '>');
    }
    if (std::string_view("diouxXeEfFgG").find(spec.type) == std::string_view::npos) {
      meter_.fail(fmt::format("format: unknown conversion '%{}'", spec.type));
    }
    return number_text(meter_, value, spec);
  }

  Meter& meter_;
  const Text& pattern_;
  const Value& values_;
  std::vector<Value> items_;
  size_t next_ = 0;
  size_t at_ = 0;
  bool by_name_ = false;
};

class Braces {
 public:
  Braces(Meter& meter, const Arguments& values) : meter_(meter), values_(values) {}

  Text run(const Text& pattern, bool nested = false) {
    const std::string& bytes = pattern.bytes();
    Text out;
    for (size_t at = 0; at < bytes.size();) {
      const char c = bytes[at];
      const bool doubled = at + 1 < bytes.size() && bytes[at + 1] == c;
      meter_.grow(out.size(), 1);
      if ((c != '{' && c != '}') || (doubled && !nested)) {
        out.append(pattern.part(at, 1));
        at += c == '{' || c == '}' ? 2 : 1;
        continue;
      }
      if (c == '}') meter_.fail("format: a single '}'");
      const size_t end = matching(bytes, at);
      if (nested && bytes.substr(at + 1, end - at - 1).find('{') != std::string::npos) {
        meter_.fail("format: fields nested too deep");
      }
      Text piece = field(pattern.part(at + 1, end - at - 1));
      meter_.grow(out.size(), piece.size());
      out.append(piece);
      at = end + 1;
    }
    return out;
  }

 private:
  size_t matching(const std::string& bytes, size_t open) const {
    size_t depth = 0;
    for (size_t at = open; at < bytes.size(); ++at) {
      if (bytes[at] == '{') ++depth;
      if (bytes[at] == '}' && --depth == 0) return at;
    }
    meter_.fail("format: a single '{'");
  }

  // name!conversion:spec
  Text field(const Text& text) {
    const std::string& bytes = text.bytes();
    const size_t name_end = std::min(bytes.find_first_of("!:"), bytes.size());
    const Value value = named(bytes.substr(0, name_end));
    size_t at = name_end;
    char conversion = '\0';
    if (at < bytes.size() && bytes[at] == '!') {
      conversion = at + 1 < bytes.size() ? bytes[at + 1] : '\0';
      if (conversion != 'r' && conversion != 's' && conversion != 'a') {
        meter_.fail("format: expected !r, !s or !a");
      }
      at += 2;
    }
    const Spec spec = at < bytes.size() ? parse(run(text.part(at + 1), /*nested=*/true)) : Spec();
    if (conversion != '\0') {
      return string_text(meter_,
                         conversion == 's' ? to_text(meter_, value) : to_repr(meter_, value), spec);
    }
    if (value.as_number() && !(value.is_boolean() && spec.type == '\0')) {
      return number_text(meter_, value, spec);
    }
    if (spec.type != '\0' && spec.type != 's') {
      meter_.fail(
          fmt::format("format: no way to print a {} as '{}'", value.type_name(), spec.type));
    }
    return string_text(meter_, to_text(meter_, value), spec);
  }

  Value named(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value value = argument(std::string(name.substr(0, end)));
    for (std::string_view rest = name.substr(end); !rest.empty();) {
      const bool bracket = rest[0] == '[';
      const size_t stop =
          bracket ? rest.find(']') : std::min(rest.find_first_of(".[", 1), rest.size());
      if (stop == rest.npos) meter_.fail("format: a '[' without its ']'");
      const std::string key(rest.substr(1, stop - 1));
      const auto index = bracket ? parse_integer(key) : std::nullopt;
      value = bracket ? item(meter_, value, index ? Value::integer(*index) : Value::string(key))
                      : attribute(meter_, value, key);
      if (value.is_undefined()) meter_.fail(value.as_undefined()->what);
      rest.remove_prefix(stop + bracket);
    }
    return value;
  }

  Value argument(const std::string& name) {
    const auto number = name.empty() ? std::optional<Int>(next_++) : parse_integer(name);
    if (number) {
      if (*number < 0 || *number >= static_cast<Int>(values_.positional.size())) {
        meter_.fail("format: not enough arguments");
      }
      return values_.positional[static_cast<size_t>(*number)];
    }
    for (const auto& [known, value] : values_.named) {
      if (known == name) return value;
    }
    meter_.fail(fmt::format("format: there is no value named '{}'", name));
  }

  Spec parse(const Text& text) {
    const std::string& bytes = text.bytes();
    Spec spec;
    size_t at = 0;
    const auto peek = [&](size_t ahead = 0) {
      return at + ahead < bytes.size() ? bytes[at + ahead] : '\0';
    };
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    if (const auto letters = characters(text);
        letters.size() > 1 && letters[1].size() == 1 && is_align(letters[1].bytes()[0])) {
      spec.fill = letters[0].bytes();
      spec.fill_origin = letters[0].origin(0);
      spec.align = letters[1].bytes()[0];
      at = spec.fill.size() + 1;
    } else if (is_align(peek())) {
      spec.align = bytes[at++];
    }
    if (peek() == '+' || peek() == '-' || peek() == ' ') spec.sign = bytes[at++];
    if (peek() == '#') spec.alternate = true, ++at;
    if (peek() == '0' && !spec.align) spec.align = '=', spec.fill = "0", ++at;
    spec.width = read_number(meter_, bytes, at);
    if (peek() == ',') spec.commas = true, ++at;
    if (peek() == '.') spec.precision = read_number(meter_, bytes, ++at);
    if (at < bytes.size()) spec.type = bytes[at++];
    if (at < bytes.size()) meter_.fail("format: a specification that cannot be read");
    return spec;
  }

  Meter& meter_;
  const Arguments& values_;
  Int next_ = 0;
};

}  // namespace

Text percent_format(Meter& meter, const Text& pattern, const Value& values) {
  return Percent(meter, pattern, values).run();
}

Text brace_format(Meter& meter, const Text& pattern, const Arguments& values) {
  return Braces(meter, values).run(pattern);
}

}  // namespace maglio::jinja
