#include "chat/jinja/text_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "chat/jinja/arguments.h"
#include "chat/jinja/attributes.h"
#include "chat/jinja/format.h"
#include "chat/jinja/number_text.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

Value cased(Meter& meter, const Value& value, const Arguments& arguments, Case to) {
  const Bound args(meter, "filter", arguments, {});
  return Value::string(change_case(to_text(meter, value), to));
}

// Words of the title filter begin behind these, too.
bool begins_word_behind(char32_t c) {
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
}

// int(x). Requires: x is finite.
Int whole_part(Meter& meter, double x) {
  const auto n = exact_integer(std::trunc(x));
  if (!n) meter.fail("int: a number that does not fit 128 bits");
  return *n;
}

// What the int filter makes of a text: nothing where it is no number.
std::optional<Int> integer_in(Meter& meter, std::string_view text, int base) {
  if (const auto n = parse_integer(text, base)) return n;
  if (is_integer(text, base)) meter.fail("int: a number that does not fit 128 bits");
  const auto x = parse_real(text);
  if (!x || !std::isfinite(*x)) return std::nullopt;
  return whole_part(meter, *x);
}

}  // namespace

Value upper_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return cased(meter, value, arguments, Case::upper);
}
Value lower_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return cased(meter, value, arguments, Case::lower);
}
Value capitalize_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return cased(meter, value, arguments, Case::capitalized);
}

Value title_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "title", arguments, {});
  Text out;
  bool begins = true;
  const Text text = to_text(meter, value);
  for (size_t at = 0; at < text.size();) {
    const Text c = text.part(at, next_utf8(text.bytes(), at).size);
    at += c.size();
    out.append(change_case(c, begins ? Case::upper : Case::lower));
    begins = c.size() == 1 ? begins_word_behind(static_cast<unsigned char>(c.bytes()[0]))
                           : strip(c, Sides::both).empty();
  }
  return Value::string(std::move(out));
}

Value trim_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "trim", arguments, {"chars"});
  const bool all = !args.has(0) || args.get(0)->is_none();
  if (!all) meter.text(args.text(0).size());
  return Value::string(strip(to_text(meter, value), Sides::both, all ? nullptr : &args.text(0)));
}

Value replace_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "replace", arguments, {"old", "new", "count"});
  std::optional<size_t> most;
  if (args.has(2) && !args.get(2)->is_none() && args.integer(2, -1) >= 0) {
    most = static_cast<size_t>(std::min<Int>(args.integer(2, 0), Int{1} << 40));
  }
  Text text = to_text(meter, value);
  text.markup = false;
  return Value::string(
      replace(meter, text, to_text(meter, args.need(0)), to_text(meter, args.need(1)), most));
}

Value indent_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "indent", arguments, {"width", "first", "blank"});
  const bool by_text = args.has(0) && args.get(0)->is_string();
  constexpr Int kMost = Int{1} << 40;
  const Text indention =
      by_text ? args.text(0)
              : repeat(meter, Text(" ", Origin::trusted),
                       static_cast<int64_t>(std::clamp<Int>(args.integer(0, 4), 0, kMost)));
  if (!value.is_string()) meter.fail(fmt::format("indent: a {} is no text", value.type_name()));
  const Text line_feed("\n", Origin::trusted);
  std::vector<Text> lines = split_lines(meter, Text(*value.as_string()).append(line_feed));
  const bool first = args.truthy(1, false), blank = args.truthy(2, false);
  size_t size = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool moves = i == 0 ? first : blank || !lines[i].empty();
    if (moves) size += indention.size();
    meter.grow(size, 0);
    if (moves) lines[i] = Text(indention).append(lines[i]);
  }
  return Value::string(join(meter, lines, line_feed));
}

Value center_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "center", arguments, {"width"});
  const Value width = Value::integer(args.integer(0, 80));
  const auto bound = method(Value::string(to_text(meter, value)), "center");
  return bound->as_function()->call(meter, {{width}, {}});
}

Value wordcount_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "wordcount", arguments, {});
  Int n = 0;
  bool inside = false;
  const Text text = to_text(meter, value);
  for (char c : text.bytes()) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0;
    n += word && !inside;
    inside = word;
  }
  return Value::integer(n);
}

Value string_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "string", arguments, {});
  return Value::string(to_text(meter, value));
}

Value safe_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "safe", arguments, {});
  Text text = to_text(meter, value);
  text.markup = true;
  return Value::string(std::move(text));
}

Value escape_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "escape", arguments, {});
  const Text text = to_text(meter, value);
  meter.text(text.size());
  return Value::string(text.markup ? text : escape_html(text));
}

Value urlencode_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "urlencode", arguments, {});
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/";
  if (!value.is_string()) meter.fail("urlencode: only strings are encoded");
  const Text& text = *value.as_string();
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes()[i];
    out.append(kPlain.find(c) != kPlain.npos
                   ? std::string(1, c)
                   : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c))),
               text.origin(i));
  }
  return Value::string(std::move(out));
}

Value format_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    meter.fail("format: arguments either with names or without");
  }
  const Text pattern = to_text(meter, value);
  if (arguments.named.empty()) {
    return Value::string(percent_format(meter, pattern, Value::tuple(arguments.positional)));
  }
  Dict by_name;
  for (const auto& [name, held] : arguments.named) by_name.set(name, held);
  return Value::string(percent_format(meter, pattern, Value::dict(std::move(by_name))));
}

Value tojson_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "tojson", arguments,
                   {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style{.ascii_only = args.truthy(0, false), .sort_keys = args.truthy(3, false)};
  if (args.has(1) && !args.get(1)->is_none()) {
    style.between_items = {",", Origin::trusted};
    if (args.get(1)->is_string()) {
      style.indent = args.text(1);
    } else {
      constexpr Int kMost = Int{1} << 40;
      const auto width = static_cast<int64_t>(std::clamp<Int>(args.integer(1, 0), 0, kMost));
      style.indent = repeat(meter, Text(" ", Origin::trusted), width);
    }
  }
  if (args.has(2) && !args.get(2)->is_none()) {
    const Sequence* pair = args.get(2)->as_sequence();
    if (!pair || pair->items.size() != 2 || !pair->items[0].is_string() ||
        !pair->items[1].is_string()) {
      meter.fail("tojson: separators must be two strings");
    }
    style.between_items = *pair->items[0].as_string();
    style.after_key = *pair->items[1].as_string();
  }
  return Value::string(to_json(meter, value, style));
}

Value int_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "int", arguments, {"default", "base"});
  if (const Undefined* missing = value.as_undefined()) meter.fail(missing->what);
  const Value otherwise = args.has(0) ? *args.get(0) : Value::integer(0);
  if (const Text* text = value.as_string()) {
    const auto base = static_cast<int>(std::clamp<Int>(args.integer(1, 10), 0, 36));
    const Origin origin = text->empty() ? Origin::trusted : text->origin(0);
    const auto n = integer_in(meter, text->bytes(), base);
    return n ? Value::integer(*n, origin) : otherwise;
  }
  if (const double* x = value.as_real()) {
    if (std::isinf(*x)) meter.fail("int: infinity is no whole number");
    return std::isnan(*x) ? otherwise : Value::integer(whole_part(meter, *x), value.origin());
  }
  const auto n = value.as_integer();
  return n ? Value::integer(*n, value.origin()) : otherwise;
}

Value float_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "float", arguments, {"default"});
  if (const Undefined* missing = value.as_undefined()) meter.fail(missing->what);
  if (const Text* text = value.as_string()) {
    const Origin origin = text->empty() ? Origin::trusted : text->origin(0);
    if (const auto x = parse_real(text->bytes())) return Value::real(*x, origin);
  } else if (const auto x = value.as_number()) {
    return Value::real(*x, value.origin());
  }
  return args.has(0) ? *args.get(0) : Value::real(0);
}

Value abs_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "abs", arguments, {});
  if (const Undefined* missing = value.as_undefined()) meter.fail(missing->what);
  const auto x = value.as_number();
  if (!x) meter.fail(fmt::format("abs: a {} is no number", value.type_name()));
  return std::signbit(*x) ? negative(meter, value) : value;
}

Value round_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "round", arguments, {"precision", "method"});
  const auto precision = static_cast<int>(std::clamp<Int>(args.integer(0, 0), -40, 40));
  const std::string method_name = args.has(1) ? args.text(1).bytes() : "common";
  const auto x = value.as_number();
  if (!x) meter.fail(fmt::format("round: a {} is no number", value.type_name()));
  if (method_name == "common") {
    if (value.as_integer() && precision >= 0) return value;
    if (!std::isfinite(*x)) return value;
    const double rounded =
        precision >= 0 ? std::strtod(fmt::format("{:.{}f}", *x, precision).c_str(), nullptr)
                       : std::nearbyint(*x / std::pow(10, -precision)) * std::pow(10, -precision);
    if (value.as_integer()) {
      if (!(std::abs(rounded) < 0x1p126)) meter.fail("round: the number is too large");
      return Value::integer(static_cast<Int>(rounded), value.origin());
    }
    return Value::real(rounded, value.origin());
  }
  const double scale = std::pow(10, precision);
  if (method_name == "ceil") return Value::real(std::ceil(*x * scale) / scale, value.origin());
  if (method_name == "floor") return Value::real(std::floor(*x * scale) / scale, value.origin());
  meter.fail("round: the method must be common, ceil or floor");
}

Value default_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "default", arguments, {"default_value", "boolean"});
  const bool missing = value.is_undefined() || (args.truthy(1, false) && !value.truthy());
  if (!missing) return value;
  return args.has(0) ? *args.get(0) : Value::string("");
}

Value length_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "length", arguments, {});
  return Value::integer(static_cast<Int>(length(meter, value)));
}

}  // namespace maglio::jinja
