#include "chat/jinja/list_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chat/jinja/arguments.h"
#include "chat/jinja/attributes.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/number_text.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"
#include "chat/jinja/tests.h"

namespace maglio::jinja {
namespace {

// "a.b.0" from an item; the item itself without a path.
Value at_path(Meter& meter, Value value, const Value* path) {
  if (!path || path->is_none()) return value;
  if (!path->is_string()) return item(meter, value, *path);
  meter.text(path->as_string()->size());
  const Text dot(".", Origin::trusted);
  for (const Text& part : split(meter, *path->as_string(), &dot, std::nullopt)) {
    const auto index = parse_integer(part.bytes());
    value = item(meter, value, index ? Value::integer(*index) : Value::string(part));
  }
  return value;
}

Value without_case(Meter& meter, const Value& value) {
  const Text* text = value.as_string();
  if (!text) return value;
  meter.text(text->size());
  return Value::string(change_case(*text, Case::lower));
}

// Items with the keys that they are ordered by.
using Keyed = std::vector<std::pair<Value, Value>>;

void sort_by_key(Meter& meter, Keyed& keyed, bool descending) {
  const auto before = [&](const auto& a, const auto& b) { return less(meter, a.first, b.first); };
  if (!descending) return std::stable_sort(keyed.begin(), keyed.end(), before);
  // Python keeps the order of equal items in both directions.
  std::stable_sort(keyed.begin(), keyed.end(),
                   [&](const auto& a, const auto& b) { return before(b, a); });
}

Arguments without_first(const Arguments& arguments, size_t n) {
  Arguments rest;
  rest.positional.assign(arguments.positional.begin() +
                             static_cast<std::ptrdiff_t>(std::min(n, arguments.positional.size())),
                         arguments.positional.end());
  rest.named = arguments.named;
  rest.names = arguments.names;
  return rest;
}

enum class Keep { matching, others };
enum class Look { at_item, at_attribute };

Value selected(Meter& meter, const Value& value, const Arguments& arguments, Keep keep, Look look) {
  if (!value.truthy()) return Value::generator({});  // whatever it is
  const std::vector<Value> items = iterate(meter, value);
  const size_t n_first = look == Look::at_attribute ? 1 : 0;
  if (arguments.positional.size() < n_first) meter.fail("selectattr: which attribute?");
  const Value* path = n_first ? &arguments.positional[0] : nullptr;
  Test test = nullptr;
  if (arguments.positional.size() > n_first) {
    const Text* name = arguments.positional[n_first].as_string();
    test = name ? find_test(name->bytes()) : nullptr;
    if (!test) meter.fail("select: there is no such test");
  }
  const Arguments rest = without_first(arguments, n_first + 1);
  std::vector<Value> kept;
  for (const Value& one : items) {
    const Value seen = at_path(meter, one, path);
    meter.step();
    if (const Text* text = seen.as_string()) meter.text(text->size());
    const bool matches = test ? test(meter, seen, rest) : seen.truthy();
    if (matches == (keep == Keep::matching)) kept.push_back(one);
  }
  return Value::generator(std::move(kept));
}

Value extreme(Meter& meter, const Value& value, const Arguments& arguments, bool greatest) {
  const Bound args(meter, greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const std::vector<Value> items = iterate(meter, value);
  if (items.empty()) return Value::undefined("no item in an empty sequence");
  const auto key = [&](const Value& one) {
    Value seen = at_path(meter, one, args.get(1));
    return args.truthy(0, false) ? seen : without_case(meter, seen);
  };
  size_t best = 0;
  Value best_key = key(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value other = key(items[i]);
    if (greatest ? less(meter, best_key, other) : less(meter, other, best_key)) {
      best = i;
      best_key = std::move(other);
    }
  }
  return items[best];
}

}  // namespace

Value first_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "first", arguments, {});
  const Sequence* s = value.as_sequence();
  if (s && s->form == Sequence::Form::generator) {
    return s->taken < s->items.size() ? s->items[s->taken++]
                                      : Value::undefined("no first item in an empty sequence");
  }
  const std::vector<Value> items = iterate(meter, value);
  return items.empty() ? Value::undefined("no first item in an empty sequence") : items.front();
}

Value last_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "last", arguments, {});
  const Sequence* s = value.as_sequence();
  if (s && s->form == Sequence::Form::generator) meter.fail("last: a generator has no last item");
  const std::vector<Value> items = iterate(meter, value);
  return items.empty() ? Value::undefined("no last item in an empty sequence") : items.back();
}

Value list_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "list", arguments, {});
  return Value::list(iterate(meter, value), value.origin());
}

Value join_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "join", arguments, {"d", "attribute"});
  std::vector<Text> parts;
  size_t size = 0;
  for (const Value& one : iterate(meter, value)) {
    parts.push_back(to_text(meter, at_path(meter, one, args.get(1))));
    meter.grow(size, parts.back().size());
    size += parts.back().size();
  }
  return Value::string(join(meter, parts, args.has(0) ? to_text(meter, *args.get(0)) : Text()));
}

Value items_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "items", arguments, {});
  if (value.is_undefined()) return Value::generator({});
  if (!value.is_dict()) meter.fail(fmt::format("items: a {} is no mapping", value.type_name()));
  const Value pairs = method(value, "items")->as_function()->call(meter, {});
  return Value::generator(pairs.as_sequence()->items);
}

Value dictsort_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = args.has(1) ? args.text(1).bytes() : "key";
  if (by != "key" && by != "value") meter.fail("dictsort: by must be key or value");
  if (!value.is_dict()) meter.fail(fmt::format("dictsort: a {} is no mapping", value.type_name()));
  Keyed keyed;
  meter.values(2 * value.as_dict()->size());
  for (const auto& [key, held] : value.as_dict()->entries()) {
    const Value& order = by == "key" ? key : held;
    keyed.emplace_back(args.truthy(0, false) ? order : without_case(meter, order),
                       Value::tuple({key, held}));
  }
  sort_by_key(meter, keyed, args.truthy(2, false));
  std::vector<Value> sorted;
  for (auto& entry : keyed) sorted.push_back(std::move(entry.second));
  return Value::list(std::move(sorted));
}

Value sort_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> paths = {Value()};
  if (args.has(2) && args.get(2)->is_string()) {
    const Text comma(",", Origin::trusted);
    paths.clear();
    for (Text& path : split(meter, args.text(2), &comma, std::nullopt)) {
      paths.push_back(Value::string(std::move(path)));
    }
  } else if (args.has(2)) {
    paths = {*args.get(2)};
  }
  Keyed keyed;
  for (const Value& one : iterate(meter, value)) {
    std::vector<Value> keys;
    for (const Value& path : paths) {
      const Value key = at_path(meter, one, &path);
      keys.push_back(args.truthy(1, false) ? key : without_case(meter, key));
    }
    keyed.emplace_back(Value::list(std::move(keys)), one);
  }
  sort_by_key(meter, keyed, args.truthy(0, false));
  std::vector<Value> sorted;
  for (auto& entry : keyed) sorted.push_back(std::move(entry.second));
  return Value::list(std::move(sorted));
}

Value unique_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "unique", arguments, {"case_sensitive", "attribute"});
  Dict seen;
  std::vector<Value> kept;
  for (const Value& one : iterate(meter, value)) {
    Value key = at_path(meter, one, args.get(1));
    if (!args.truthy(0, false)) key = without_case(meter, key);
    if (!Dict::is_key(key)) meter.fail(fmt::format("unique: a {} is no key", key.type_name()));
    if (key.is_string()) meter.text(key.as_string()->size());
    if (seen.find(key)) continue;
    seen.set(key, Value());
    kept.push_back(one);
  }
  return Value::generator(std::move(kept));
}

Value reverse_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "reverse", arguments, {});
  if (value.is_string()) return slice_of(meter, value, Value(), Value(), Value::integer(-1));
  std::vector<Value> items = iterate(meter, value);
  std::reverse(items.begin(), items.end());
  const Sequence* s = value.as_sequence();
  return s && s->form == Sequence::Form::generator ? Value::list(std::move(items))
                                                   : Value::generator(std::move(items));
}

Value map_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  if (!value.truthy()) return Value::generator({});
  std::vector<Value> items = iterate(meter, value);
  if (arguments.positional.empty()) {
    const Bound args(meter, "map", arguments, {"attribute", "default"});
    for (Value& one : items) {
      one = at_path(meter, one, &args.need(0));
      if (one.is_undefined() && args.has(1)) one = *args.get(1);
    }
    return Value::generator(std::move(items));
  }
  const Text* name = arguments.positional[0].as_string();
  const Filter filter = name ? find_filter(name->bytes()) : nullptr;
  if (!filter) meter.fail("map: there is no such filter");
  const Meter::Level level(meter);  // filters may name map again
  const Arguments rest = without_first(arguments, 1);
  for (Value& one : items) {
    meter.step();
    if (one.is_string()) meter.text(one.as_string()->size());
    one = filter(meter, one, rest);
  }
  return Value::generator(std::move(items));
}

Value select_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return selected(meter, value, arguments, Keep::matching, Look::at_item);
}
Value reject_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return selected(meter, value, arguments, Keep::others, Look::at_item);
}
Value selectattr_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return selected(meter, value, arguments, Keep::matching, Look::at_attribute);
}
Value rejectattr_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return selected(meter, value, arguments, Keep::others, Look::at_attribute);
}

Value min_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return extreme(meter, value, arguments, /*greatest=*/false);
}
Value max_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  return extreme(meter, value, arguments, /*greatest=*/true);
}

Value sum_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "sum", arguments, {"attribute", "start"});
  Value sum = args.has(1) ? *args.get(1) : Value::integer(0);
  for (const Value& one : iterate(meter, value)) {
    sum = arithmetic(meter, Binary::Op::add, sum, at_path(meter, one, args.get(0)));
  }
  return sum;
}

Value batch_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "batch", arguments, {"linecount", "fill_with"});
  const Int width = args.integer(0, 0);
  std::vector<Value> rows, row;
  const auto is_full = [&] { return static_cast<Int>(row.size()) == width; };
  for (Value& one : iterate(meter, value)) {
    if (is_full()) rows.push_back(Value::list(std::exchange(row, {})));
    row.push_back(std::move(one));
  }
  if (!row.empty()) {
    const bool fills = args.has(1) && !args.get(1)->is_none();
    while (fills && static_cast<Int>(row.size()) < width) {
      meter.values(1);
      row.push_back(*args.get(1));
    }
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::generator(std::move(rows));
}

Value slice_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "slice", arguments, {"slices", "fill_with"});
  const std::vector<Value> items = iterate(meter, value);
  const Int n = args.integer(0, 0);
  if (n <= 0) meter.fail("slice: the number of slices must be positive");
  const auto size = static_cast<Int>(items.size());
  std::vector<Value> rows;
  auto next = items.begin();
  for (Int i = 0; i < n; ++i) {
    meter.values(1);
    const Int width = size / n + (i < size % n ? 1 : 0);
    std::vector<Value> row(next, next + static_cast<std::ptrdiff_t>(width));
    next += static_cast<std::ptrdiff_t>(width);
    const bool fills = args.has(1) && !args.get(1)->is_none() && size % n != 0 && i >= size % n;
    if (fills) row.push_back(*args.get(1));
    rows.push_back(Value::list(std::move(row)));
  }
  return Value::generator(std::move(rows));
}

Value groupby_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "groupby", arguments, {"attribute", "default", "case_sensitive"});
  const auto key_of = [&](const Value& one) {
    const Value key = at_path(meter, one, &args.need(0));
    return key.is_undefined() && args.has(1) ? *args.get(1) : key;
  };
  Keyed keyed;
  for (const Value& one : iterate(meter, value)) {
    const Value key = key_of(one);
    keyed.emplace_back(args.truthy(2, false) ? key : without_case(meter, key), one);
  }
  sort_by_key(meter, keyed, /*descending=*/false);
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    const size_t begin = i;
    std::vector<Value> members;
    while (i < keyed.size() && equal(meter, keyed[i].first, keyed[begin].first)) {
      members.push_back(keyed[i++].second);
    }
    if (i == begin) ++i;  // NaN equals nothing
    groups.push_back(Value::tuple({key_of(keyed[begin].second), Value::list(std::move(members))}));
  }
  return Value::list(std::move(groups));
}

Value attr_filter(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "attr", arguments, {"name"});
  const std::string& name = args.text(0).bytes();
  if (value.as_loop() || value.as_space()) return attribute(meter, value, name);
  if (auto bound = method(value, name)) return *std::move(bound);
  return Value::undefined(
      fmt::format("a value of type {} has no attribute '{}'", value.type_name(), name));
}

}  // namespace maglio::jinja
