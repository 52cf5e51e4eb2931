#include "chat/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/utf8.h"
#include "chat/jinja/python_text.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

using Kind = Token::Kind;

constexpr std::array<std::string_view, 25> kSymbols = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
}

// Every line end as "\n", and the last one gone.
std::string with_plain_line_ends(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// The text of a string literal, as Python's unicode-escape reads it.
class Unescaper {
 public:
  Unescaper(std::string_view literal, Position at) : literal_(literal), at_(at) {}

  std::string run() {
    while (i_ < literal_.size()) {
      if (literal_[i_] == '\\' && i_ + 1 < literal_.size()) {
        ++i_;
        escape();
      } else {
        out_ += literal_[i_++];
      }
    }
    return std::move(out_);
  }

 private:
  void escape() {
    constexpr std::string_view kNames = "ntrabfv\\'\"", kBytes = "\n\t\r\a\b\f\v\\'\"";
    const char c = literal_[i_];
    if (const size_t known = kNames.find(c); known != kNames.npos) {
      out_ += kBytes[known];
      ++i_;
    } else if (c == '\n') {
      ++i_;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      ++i_;
      code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '7') {
      char32_t code = 0;
      for (size_t n = 0;
           n < 3 && i_ < literal_.size() && literal_[i_] >= '0' && literal_[i_] <= '7'; ++n) {
        code = code * 8 + static_cast<char32_t>(literal_[i_++] - '0');
      }
      append_utf8(out_, code);
    } else {
      out_ += '\\';
      out_ += literal_[i_++];
    }
  }

  void code_point(size_t n_digits) {
    char32_t code = 0;
    for (size_t n = 0; n < n_digits; ++n, ++i_) {
      if (i_ >= literal_.size() || !std::isxdigit(static_cast<unsigned char>(literal_[i_]))) {
        syntax_error(at_, fmt::format("an escape needs {} hexadecimal digits", n_digits));
      }
      const char c = literal_[i_];
      const int digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
      code = code * 16 + static_cast<char32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      syntax_error(at_, "an escape that is no character");
    }
    append_utf8(out_, code);
  }

  std::string_view literal_;
  Position at_;
  size_t i_ = 0;
  std::string out_;
};

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const size_t tag = find_tag();
      if (tag == std::string::npos) {
        push(Kind::data, source_.substr(at_));
        at_ = source_.size();
      } else {
        text_and_tag(tag);
      }
    }
    push(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  bool sees(std::string_view text) const {
    return std::string_view(source_).substr(at_).starts_with(text);
  }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  // Positions are asked for in ascending order, so each line is counted once.
  Position position(size_t byte) {
    for (; counted_ < byte; ++counted_) {
      if (source_[counted_] == '\n') {
        ++line_;
        line_begin_ = counted_ + 1;
      }
    }
    return {line_, static_cast<uint32_t>(byte - std::min(byte, line_begin_) + 1)};
  }

  void push(Kind kind, std::string text) {
    if (kind == Kind::data && text.empty()) return;
    tokens_.push_back({kind, std::move(text), position(at_)});
  }

  size_t find_tag() const {
    for (size_t i = at_; (i = source_.find('{', i)) != std::string::npos; ++i) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return std::string::npos;
  }

  void skip_space() {
    while (at_ < source_.size()) {
      const Utf8Step c = next_utf8(source_, at_);
      if (!is_space(c.code_point)) return;
      at_ += c.size;
    }
  }

  // The text before a tag, without what the tag takes from it.
  std::string text_before(size_t tag, char sign) const {
    std::string text = source_.substr(at_, tag - at_);
    if (sign == '-') return strip(Text(text, Origin::trusted), Sides::right).bytes();
    if (sign == '+' || source_[tag + 1] == '{') return text;
    const size_t line = text.rfind('\n') + 1;  // 0 where there is none
    const bool at_line_begin = line > 0 || at_ == 0 || source_[at_ - 1] == '\n';
    const Text blanks(std::string_view(text).substr(line), Origin::trusted);
    if (at_line_begin && strip(blanks, Sides::both).empty()) text.resize(line);
    return text;
  }

  void text_and_tag(size_t tag) {
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool signed_tag = sign == '-' || sign == '+';
    push(Kind::data, text_before(tag, sign));
    at_ = tag;
    const char kind = source_[tag + 1];
    if (kind == '%' && raw_block(signed_tag)) return;
    if (kind != '#') push(kind == '{' ? Kind::open_print : Kind::open_block, "");
    at_ += signed_tag ? 3 : 2;
    if (kind == '#') {
      comment(tag);
    } else {
      code(kind == '{');
    }
  }

  void comment(size_t tag) {
    const size_t end = source_.find("#}", at_);
    if (end == std::string::npos) syntax_error(position(tag), "a comment without its end '#}'");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_block(sign);
  }

  // What the end of a block or a comment takes from the text behind it.
  void after_block(char sign) {
    if (sign == '-') skip_space();
    if (sign != '-' && sign != '+' && peek() == '\n') ++at_;
  }

  // {% raw %} ... {% endraw %}: all text. False where the tag at at_ is another one.
  bool raw_block(bool signed_tag) {
    const size_t tag = at_;
    const auto tag_named = [&](std::string_view name) {
      at_ += signed_tag ? 3 : 2;
      skip_space();
      if (!sees(name)) return false;
      at_ += name.size();
      skip_space();
      return sees("%}") || sees("-%}") || sees("+%}");
    };
    if (!tag_named("raw") || peek() == '+') {
      at_ = tag;
      return false;
    }
    const bool takes = peek() == '-';
    at_ += takes ? 3 : 2;
    if (takes) skip_space();
    for (size_t from = at_, end = at_; (end = source_.find("{%", end)) != std::string::npos;
         end += 2) {
      at_ = end;
      const char sign = peek(2);
      signed_tag = sign == '-' || sign == '+';
      if (!tag_named("endraw")) continue;
      const char last = peek() == '%' ? '\0' : peek();
      const size_t behind = at_ + (last == '\0' ? 2 : 3);
      at_ = from;
      push(Kind::data, text_before(end, sign));
      at_ = behind;
      after_block(last);
      return true;
    }
    syntax_error(position(tag), "'raw' without its 'endraw'");
  }

  // The tokens of a tag up to its end.
  void code(bool print) {
    const std::string_view close = print ? "}}" : "%}";
    const Kind kind = print ? Kind::close_print : Kind::close_block;
    std::string brackets;  // open ones: inside of them a close is none
    while (true) {
      skip_space();
      if (at_ >= source_.size()) {
        syntax_error(position(at_),
                     fmt::format("the template ends inside a tag, before '{}'", close));
      }
      const bool sign =
          (peek() == '-' || (peek() == '+' && !print)) && source_.compare(at_ + 1, 2, close) == 0;
      if (brackets.empty() && (sign || sees(close))) {
        push(kind, "");
        const char last = sign ? peek() : '\0';
        at_ += sign ? 3 : 2;
        if (print) {
          if (last == '-') skip_space();
        } else {
          after_block(last);
        }
        return;
      }
      one_token(brackets);
    }
  }

  void one_token(std::string& brackets) {
    const char c = peek();
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return string_literal();
    if (is_name_byte(c)) {
      size_t end = at_;
      while (end < source_.size() && is_name_byte(source_[end])) ++end;
      return take(Kind::name, end);
    }
    const auto symbol =
        std::find_if(kSymbols.begin(), kSymbols.end(), [&](std::string_view s) { return sees(s); });
    if (symbol == kSymbols.end()) {
      syntax_error(position(at_), fmt::format("unexpected character '{}'", c));
    }
    if (c == '(' || c == '[' || c == '{') brackets += c;
    if (c == ')' || c == ']' || c == '}') {
      const char opened = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (brackets.empty() || brackets.back() != opened) {
        syntax_error(position(at_), fmt::format("unexpected '{}'", c));
      }
      brackets.pop_back();
    }
    take(Kind::symbol, at_ + symbol->size());
  }

  void take(Kind kind, size_t end) {
    push(kind, source_.substr(at_, end - at_));
    at_ = end;
  }

  // Digits with underscores between them.
  size_t after_digits(size_t i) const {
    while (i < source_.size() &&
           (is_digit(source_[i]) ||
            (source_[i] == '_' && i + 1 < source_.size() && is_digit(source_[i + 1])))) {
      ++i;
    }
    return i;
  }

  void number() {
    if (peek() == '0' && std::string_view("xXoObB").find(peek(1)) != std::string_view::npos &&
        peek(1) != '\0') {
      size_t end = at_ + 2;
      while (end < source_.size() &&
             (std::isalnum(static_cast<unsigned char>(source_[end])) || source_[end] == '_')) {
        ++end;
      }
      return take(Kind::integer, end);
    }
    const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    size_t end = after_digits(at_);
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    bool real = false;
    if (!after_dot && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
      end = after_digits(end + 1);
      real = true;
    }
    if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const size_t sign =
          end + 1 < source_.size() && (source_[end + 1] == '-' || source_[end + 1] == '+');
      if (digit_at(end + 1 + sign)) {
        end = after_digits(end + 1 + sign);
        real = true;
      }
    }
    take(real ? Kind::real : Kind::integer, end);
  }

  void string_literal() {
    const char quote = peek();
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) syntax_error(position(at_), "a string without its end");
    const std::string_view inner = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    push(Kind::string, Unescaper(inner, position(at_)).run());
    at_ = end + 1;
  }

  std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t counted_ = 0, line_begin_ = 0;  // what position() has seen
  uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> lex(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    throw Error(ErrorKind::bad_file, "TemplateLimit",
                fmt::format("chat template: {} bytes, at most {} are read", source.size(),
                            kMaxSourceBytes));
  }
  return Lexer(with_plain_line_ends(source)).run();
}

void syntax_error(Position at, std::string_view message) {
  throw Error(ErrorKind::bad_file, "TemplateSyntax",
              fmt::format("chat template, line {}, column {}: {} (--chat-template native renders "
                          "without it)",
                          at.line, at.column, message));
}

}  // namespace maglio::jinja
