#include "chat/jinja/print.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "chat/jinja/number_text.h"

namespace maglio::jinja {
namespace {

// Text that grows, and is charged for as it does.
class Writer {
 public:
  explicit Writer(Meter& meter) : meter_(meter) {}
  void write(std::string_view bytes, Origin origin) {
    meter_.grow(out_.size(), bytes.size());
    out_.append(bytes, origin);
  }
  // Said where either the text or its surroundings are.
  void write(const Text& text, Origin around) {
    if (origin_of(text) == Origin::said) around = Origin::said;
    write(text.bytes(), around);
  }
  Text take() { return std::move(out_); }

 private:
  Meter& meter_;
  Text out_;
};

bool is_printable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    case UTF8PROC_CATEGORY_ZS:
      return c == ' ';
    default:
      return true;
  }
}

std::string python_escape(char32_t c, char quote) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  if (c == '\\') return "\\\\";
  if (c == static_cast<unsigned char>(quote)) return fmt::format("\\{}", quote);
  if (is_printable(c)) return {};
  const auto code = static_cast<uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

std::string json_escape(char32_t c, bool ascii_only) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  const auto code = static_cast<uint32_t>(c);
  if (code >= 0x10000 && ascii_only) {
    const uint32_t rest = code - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }
  if (code < 0x20 || (ascii_only && code > 0x7E)) return fmt::format("\\u{:04x}", code);
  return {};
}

// Each character as it is, or as escape(c) says; an escape has the character's origin.
template <class Escape>
void write_escaped(Writer& out, const Text& text, Escape escape) {
  for (size_t i = 0; i < text.size();) {
    const Utf8Step c = next_utf8(text.bytes(), i);
    const std::string instead = c.state == Utf8State::whole ? escape(c.code_point) : std::string();
    for (size_t n = 0; instead.empty() && n < c.size; ++n) {
      out.write(std::string_view(text.bytes()).substr(i + n, 1), text.origin(i + n));
    }
    if (!instead.empty()) out.write(instead, text.origin(i));
    i += c.size;
  }
}

Origin origin_of_quotes(const Text& text) {
  return text.empty() ? Origin::trusted : text.origin(0);
}

class Repr {
 public:
  explicit Repr(Meter& meter) : meter_(meter), out_(meter) {}

  void value(const Value& v) {
    const Meter::Level level(meter_);
    meter_.step();
    if (const Text* text = v.as_string()) return string(*text);
    if (const Sequence* s = v.as_sequence()) return sequence(*s, v.origin());
    if (const Dict* d = v.as_dict()) return dict(*d, v.origin());
    if (const Namespace* space = v.as_space()) {
      Dict entries;
      for (const auto& [name, held] : space->entries)
        entries.set(Value::string(name, space->names), held);
      out_.write("<Namespace ", Origin::trusted);
      dict(entries, Origin::trusted);
      return out_.write(">", Origin::trusted);
    }
    out_.write(scalar(v), v.origin());
  }

  Text take() { return out_.take(); }

  static std::string scalar(const Value& v) {
    if (v.is_undefined()) return "Undefined";
    if (v.is_none()) return "None";
    if (const bool* b = v.as_boolean()) return *b ? "True" : "False";
    if (const auto n = v.as_integer()) return print(*n);
    if (const double* x = v.as_real()) return print(*x);
    return fmt::format("<{}>", v.type_name());
  }

 private:
  void string(const Text& text) {
    const std::string& bytes = text.bytes();
    const bool has_single = bytes.find('\'') != bytes.npos;
    const char quote = has_single && bytes.find('"') == bytes.npos ? '"' : '\'';
    out_.write({&quote, 1}, origin_of_quotes(text));
    write_escaped(out_, text, [quote](char32_t c) { return python_escape(c, quote); });
    out_.write({&quote, 1}, origin_of_quotes(text));
  }

  void sequence(const Sequence& s, Origin origin) {
    if (s.form == Sequence::Form::generator) return out_.write("<generator object>", origin);
    const bool tuple = s.form == Sequence::Form::tuple;
    out_.write(tuple ? "(" : "[", origin);
    for (size_t i = 0; i < s.items.size(); ++i) {
      if (i > 0) out_.write(", ", origin);
      value(s.items[i]);
    }
    if (tuple && s.items.size() == 1) out_.write(",", origin);
    out_.write(tuple ? ")" : "]", origin);
  }

  void dict(const Dict& d, Origin origin) {
    out_.write("{", origin);
    bool first = true;
    for (const auto& [key, held] : d.entries()) {
      if (!std::exchange(first, false)) out_.write(", ", origin);
      value(key);
      out_.write(": ", origin);
      value(held);
    }
    out_.write("}", origin);
  }

  Meter& meter_;
  Writer out_;
};

class Json {
 public:
  Json(Meter& meter, const JsonStyle& style) : meter_(meter), style_(style), out_(meter) {}

  void value(const Value& v, size_t depth = 0) {
    const Meter::Level level(meter_);
    meter_.step();
    if (const Text* text = v.as_string()) return string(*text);
    if (const Dict* d = v.as_dict()) return dict(*d, v.origin(), depth);
    const Sequence* s = v.as_sequence();
    if (s && s->form != Sequence::Form::generator) return list(*s, v.origin(), depth);
    out_.write(scalar(v), v.origin());
  }

  Text take() { return out_.take(); }

 private:
  std::string scalar(const Value& v) const {
    if (v.is_none()) return "null";
    if (const bool* b = v.as_boolean()) return *b ? "true" : "false";
    if (const auto n = v.as_integer()) return print(*n);
    if (const double* x = v.as_real()) {
      if (std::isnan(*x)) return "NaN";
      if (std::isinf(*x)) return *x < 0 ? "-Infinity" : "Infinity";
      return print(*x);
    }
    meter_.fail(fmt::format("tojson: a value of type {} is not JSON", v.type_name()));
  }

  void string(const Text& text) {
    out_.write("\"", origin_of_quotes(text));
    write_escaped(out_, text, [this](char32_t c) { return json_escape(c, style_.ascii_only); });
    out_.write("\"", origin_of_quotes(text));
  }

  void new_line(size_t depth, Origin origin) {
    if (!style_.indent) return;
    out_.write("\n", origin);
    for (size_t i = 0; i < depth; ++i) out_.write(*style_.indent, origin);
  }

  void list(const Sequence& s, Origin origin, size_t depth) {
    if (s.items.empty()) return out_.write("[]", origin);
    out_.write("[", origin);
    for (size_t i = 0; i < s.items.size(); ++i) {
      if (i > 0) out_.write(style_.between_items, origin);
      new_line(depth + 1, origin);
      value(s.items[i], depth + 1);
    }
    new_line(depth, origin);
    out_.write("]", origin);
  }

  void dict(const Dict& d, Origin origin, size_t depth) {
    if (d.size() == 0) return out_.write("{}", origin);
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : d.entries()) entries.push_back(&entry);
    if (style_.sort_keys) sort(entries);
    out_.write("{", origin);
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out_.write(style_.between_items, origin);
      new_line(depth + 1, origin);
      const Value& key = entries[i]->first;
      string(key.is_string() ? *key.as_string() : Text(scalar(key), key.origin()));
      out_.write(style_.after_key, origin);
      value(entries[i]->second, depth + 1);
    }
    new_line(depth, origin);
    out_.write("}", origin);
  }

  void sort(std::vector<const Dict::Entry*>& entries) const {
    for (const Dict::Entry* entry : entries) {
      if (!entry->first.is_string())
        meter_.fail("tojson: only keys that are strings can be sorted");
    }
    std::stable_sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
      return a->first.as_string()->bytes() < b->first.as_string()->bytes();
    });
  }

  Meter& meter_;
  const JsonStyle& style_;
  Writer out_;
};

}  // namespace

Text to_text(Meter& meter, const Value& value) {
  if (const Text* text = value.as_string()) return *text;
  if (value.is_undefined()) return {};
  return to_repr(meter, value);
}

Text to_repr(Meter& meter, const Value& value) {
  Repr repr(meter);
  repr.value(value);
  return repr.take();
}

Text to_json(Meter& meter, const Value& value, const JsonStyle& style) {
  Json json(meter, style);
  json.value(value);
  return json.take();
}

}  // namespace maglio::jinja
