// The methods of Python's str, list and dict that a template may call.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "chat/jinja/arguments.h"
#include "chat/jinja/attributes.h"
#include "chat/jinja/format.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

using TextMethod = Value (*)(Meter&, const Text&, const Arguments&);
using DictMethod = Value (*)(Meter&, const Value&, const Arguments&);
using ListMethod = DictMethod;

template <class Method>
struct Named {
  std::string_view name;
  Method method;
};

template <class Method, size_t n>
Method find(const std::array<Named<Method>, n>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : found->method;
}

Value texts(Meter& meter, std::vector<Text> parts) {
  meter.step(parts.size());
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(Value::string(std::move(part)));
  return Value::list(std::move(items));
}

// A count that a method takes: nothing where it is negative, which means all.
std::optional<size_t> count_of(const Bound& args, size_t i) {
  const Int n = args.integer(i, -1);
  if (n < 0) return std::nullopt;
  return static_cast<size_t>(std::min<Int>(n, Int{1} << 40));
}

const Text* text_or_none(const Bound& args, size_t i) {
  return !args.has(i) || args.get(i)->is_none() ? nullptr : &args.text(i);
}

template <Sides sides>
Value strip_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "strip", arguments, {"chars"});
  const Text* const chars = text_or_none(args, 0);
  if (chars) meter.text(chars->size());
  return Value::string(strip(self, sides, chars));
}

template <Sides from>
Value split_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "split", arguments, {"sep", "maxsplit"});
  const Text* separator = text_or_none(args, 0);
  if (separator && separator->empty()) meter.fail("split: an empty separator");
  return texts(meter, split(meter, self, separator, count_of(args, 1), from));
}

Value splitlines_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "splitlines", arguments, {"keepends"});
  return texts(meter, split_lines(meter, self, args.truthy(0, false)));
}

template <Sides from>
Value partition_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "partition", arguments, {"sep"});
  const Text& separator = args.text(0);
  if (separator.empty()) meter.fail("partition: an empty separator");
  const size_t at = from == Sides::left ? find_first(self.bytes(), separator.bytes())
                                        : find_last(meter, self.bytes(), separator.bytes());
  const auto string = [](Text text) { return Value::string(std::move(text)); };
  if (at == std::string::npos) {
    if (from == Sides::left) return Value::tuple({string(self), string({}), string({})});
    return Value::tuple({string({}), string({}), string(self)});
  }
  return Value::tuple({string(self.part(0, at)), string(self.part(at, separator.size())),
                       string(self.part(at + separator.size()))});
}

// The part of a text that the arguments `start` and `end` leave, from argument i on.
Text between(const Text& self, const Bound& args, size_t i) {
  const auto bound = [&](size_t k) -> std::optional<int64_t> {
    if (!args.has(k) || args.get(k)->is_none()) return std::nullopt;
    constexpr Int kMost = Int{1} << 40;
    return static_cast<int64_t>(std::clamp<Int>(args.integer(k, 0), -kMost, kMost));
  };
  if (!bound(i) && !bound(i + 1)) return self;
  return slice(self, bound(i), bound(i + 1), 1);
}

template <bool at_end>
Value affix_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, at_end ? "endswith" : "startswith", arguments, {"affix", "start", "end"});
  const Text part = between(self, args, 1);
  const std::string_view text = part.bytes();
  const auto fits = [&](const std::string& affix) {
    meter.step(1 + std::min(affix.size(), text.size()) / 16);
    return at_end ? text.ends_with(affix) : text.starts_with(affix);
  };
  if (const Sequence* any = args.need(0).as_sequence()) {
    return Value::boolean(std::any_of(any->items.begin(), any->items.end(), [&](const Value& v) {
      meter.step();
      return v.is_string() && fits(v.as_string()->bytes());
    }));
  }
  return Value::boolean(fits(args.text(0).bytes()));
}

template <bool from_right, bool must>
Value find_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "find", arguments, {"sub", "start", "end"});
  const Text part = between(self, args, 1);
  const std::string& sub = args.text(0).bytes();
  const size_t at =
      from_right ? find_last(meter, part.bytes(), sub) : find_first(part.bytes(), sub);
  if (at == std::string::npos) {
    if (must) meter.fail("index: substring not found");
    return Value::integer(-1);
  }
  Int start = args.has(1) && !args.get(1)->is_none() ? args.integer(1, 0) : 0;
  if (start < 0) {
    start = std::max<Int>(start + static_cast<Int>(count_characters(self.bytes())), 0);
  }
  return Value::integer(start + static_cast<Int>(character_of_byte(part.bytes(), at)));
}

Value count_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "count", arguments, {"sub", "start", "end"});
  const Text part = between(self, args, 1);
  const Text& sub = args.text(0);
  if (sub.empty()) return Value::integer(static_cast<Int>(count_characters(part.bytes())) + 1);
  Int n = 0;
  for (size_t at = 0; (at = find_first(part.bytes(), sub.bytes(), at)) != std::string::npos;
       at += sub.size()) {
    ++n;
  }
  return Value::integer(n);
}

Value replace_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "replace", arguments, {"old", "new", "count"});
  return Value::string(replace(meter, self, args.text(0), args.text(1), count_of(args, 2)));
}

template <Case to>
Value case_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "upper", arguments, {});
  return Value::string(change_case(self, to));
}

Value join_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "join", arguments, {"iterable"});
  std::vector<Text> parts;
  size_t size = 0;
  for (const Value& part : iterate(meter, args.need(0))) {
    if (!part.is_string()) {
      meter.fail(fmt::format("join: expected strings, found a {}", part.type_name()));
    }
    meter.grow(size, part.as_string()->size());
    parts.push_back(*part.as_string());
    size += parts.back().size();
  }
  return Value::string(join(meter, parts, self));
}

Value format_method(Meter& meter, const Text& self, const Arguments& arguments) {
  return Value::string(brace_format(meter, self, arguments));
}

template <bool suffix>
Value remove_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "removeprefix", arguments, {"affix"});
  const std::string& affix = args.text(0).bytes();
  if (suffix && !affix.empty() && self.bytes().ends_with(affix)) {
    return Value::string(self.part(0, self.size() - affix.size()));
  }
  if (!suffix && self.bytes().starts_with(affix)) return Value::string(self.part(affix.size()));
  return Value::string(self);
}

enum class Place { left, right, middle };
template <Place place>
Value justify_method(Meter& meter, const Text& self, const Arguments& arguments) {
  const Bound args(meter, "justify", arguments, {"width", "fillchar"});
  const Text fill = args.has(1) ? args.text(1) : Text(" ", Origin::trusted);
  const auto n = static_cast<Int>(count_characters(self.bytes()));
  Int missing = 0;
  const bool overflows = __builtin_sub_overflow(args.integer(0, 0), n, &missing);
  if (overflows || missing <= 0) return Value::string(self);  // a width below any other
  const auto pads = static_cast<int64_t>(std::min<Int>(missing, Int{1} << 40));
  const int64_t before = place == Place::right  ? pads
                         : place == Place::left ? 0
                                                : pads / 2 + (pads & (pads + n) & 1);
  Text out = repeat(meter, fill, before);
  out.append(self);
  return Value::string(out.append(repeat(meter, fill, pads - before)));
}

template <class Predicate>
Value every_character(const Text& self, Predicate holds) {
  if (self.empty()) return Value::boolean(false);
  return Value::boolean(std::all_of(self.bytes().begin(), self.bytes().end(), holds));
}
Value isdigit_method(Meter&, const Text& self, const Arguments&) {
  return every_character(self, [](char c) { return c >= '0' && c <= '9'; });
}
Value isspace_method(Meter&, const Text& self, const Arguments&) {
  return Value::boolean(!self.empty() && strip(self, Sides::both).empty());
}
Value isalpha_method(Meter&, const Text& self, const Arguments&) {
  return every_character(self, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
  });
}
Value isalnum_method(Meter&, const Text& self, const Arguments&) {
  return every_character(self, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c & 0x80) != 0;
  });
}
template <Case to>
Value iscase_method(Meter&, const Text& self, const Arguments&) {
  return Value::boolean(is_in_case(self.bytes(), to));
}

constexpr std::array<Named<TextMethod>, 34> kTextMethods = {{
    {"strip", strip_method<Sides::both>},
    {"lstrip", strip_method<Sides::left>},
    {"rstrip", strip_method<Sides::right>},
    {"split", split_method<Sides::left>},
    {"rsplit", split_method<Sides::right>},
    {"splitlines", splitlines_method},
    {"partition", partition_method<Sides::left>},
    {"rpartition", partition_method<Sides::right>},
    {"startswith", affix_method<false>},
    {"endswith", affix_method<true>},
    {"find", find_method<false, false>},
    {"rfind", find_method<true, false>},
    {"index", find_method<false, true>},
    {"rindex", find_method<true, true>},
    {"count", count_method},
    {"replace", replace_method},
    {"upper", case_method<Case::upper>},
    {"lower", case_method<Case::lower>},
    {"casefold", case_method<Case::lower>},
    {"title", case_method<Case::title>},
    {"capitalize", case_method<Case::capitalized>},
    {"join", join_method},
    {"format", format_method},
    {"removeprefix", remove_method<false>},
    {"removesuffix", remove_method<true>},
    {"ljust", justify_method<Place::left>},
    {"rjust", justify_method<Place::right>},
    {"center", justify_method<Place::middle>},
    {"isdigit", isdigit_method},
    {"isspace", isspace_method},
    {"isalpha", isalpha_method},
    {"isalnum", isalnum_method},
    {"isupper", iscase_method<Case::upper>},
    {"islower", iscase_method<Case::lower>},
}};

Value get_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "get", arguments, {"key", "default"});
  const Value& key = args.need(0);
  if (key.is_undefined()) return args.has(1) ? *args.get(1) : Value();
  if (!Dict::is_key(key)) meter.fail(fmt::format("get: a {} is no key", key.type_name()));
  if (key.is_string()) meter.text(key.as_string()->size());
  const Value* found = self.as_dict()->find(key);
  return found ? *found : args.has(1) ? *args.get(1) : Value();
}

Value pairs_of(Meter& meter, const Dict& dict) {
  meter.values(2 * dict.size());
  std::vector<Value> pairs;
  pairs.reserve(dict.size());
  for (const auto& [key, value] : dict.entries()) pairs.push_back(Value::tuple({key, value}));
  return Value::list(std::move(pairs));
}

Value items_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "items", arguments, {});
  return pairs_of(meter, *self.as_dict());
}
Value keys_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "keys", arguments, {});
  return Value::list(iterate(meter, self));
}
Value values_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "values", arguments, {});
  meter.values(self.as_dict()->size());
  std::vector<Value> values;
  for (const auto& entry : self.as_dict()->entries()) values.push_back(entry.second);
  return Value::list(std::move(values));
}
Value copy_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "copy", arguments, {});
  return self;
}

constexpr std::array<Named<DictMethod>, 5> kDictMethods = {{
    {"get", get_method},
    {"items", items_method},
    {"keys", keys_method},
    {"values", values_method},
    {"copy", copy_method},
}};

Value list_count_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "count", arguments, {"value"});
  Int n = 0;
  for (const Value& item : self.as_sequence()->items) n += equal(meter, item, args.need(0));
  return Value::integer(n);
}
Value list_index_method(Meter& meter, const Value& self, const Arguments& arguments) {
  const Bound args(meter, "index", arguments, {"value"});
  const auto& items = self.as_sequence()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (equal(meter, items[i], args.need(0))) return Value::integer(static_cast<Int>(i));
  }
  meter.fail("index: the value is not in the list");
}

constexpr std::array<Named<ListMethod>, 3> kListMethods = {{
    {"count", list_count_method},
    {"index", list_index_method},
    {"copy", copy_method},
}};

// What would change a value; the reference's sandbox hands these out as undefined, too.
constexpr std::array<std::string_view, 13> kForbidden = {
    "append", "clear",  "extend",  "insert",     "pop",      "remove", "reverse",
    "sort",   "update", "popitem", "setdefault", "fromkeys", "add"};

template <class Method>
Value bind(const Value& self, std::string_view name, Method method) {
  return Value::function({std::string(name),
                          [self, method](Meter& meter, const Arguments& arguments) {
                            if constexpr (std::is_same_v<Method, TextMethod>) {
                              meter.text(self.as_string()->size());
                              return method(meter, *self.as_string(), arguments);
                            } else {
                              return method(meter, self, arguments);
                            }
                          },
                          self.height() + 1});
}

}  // namespace

std::optional<Value> method(const Value& object, std::string_view name) {
  if (object.is_string()) {
    if (const TextMethod found = find(kTextMethods, name)) return bind(object, name, found);
    return std::nullopt;
  }
  const Sequence* s = object.as_sequence();
  const bool is_list = s && s->form == Sequence::Form::list;
  if (object.is_dict() || is_list) {
    const DictMethod found = is_list ? find(kListMethods, name) : find(kDictMethods, name);
    if (found) return bind(object, name, found);
    const bool forbidden =
        std::find(kForbidden.begin(), kForbidden.end(), name) != kForbidden.end();
    const bool of_dict = name == "clear" || name == "pop" || name == "update" ||
                         name == "popitem" || name == "setdefault" || name == "fromkeys";
    if (forbidden && (object.is_dict() ? of_dict : !of_dict || name == "clear" || name == "pop")) {
      return Value::undefined(
          fmt::format("'{}' would change a value, which no template may", name));
    }
  }
  return std::nullopt;
}

}  // namespace maglio::jinja
