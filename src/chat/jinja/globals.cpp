#include "chat/jinja/globals.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>
#include <utility>

#include "chat/jinja/arguments.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"

namespace maglio::jinja {
namespace {

// As Jinja's sandbox has it.
constexpr Int kMaxRange = 100'000;

Value range(Meter& meter, const Arguments& arguments) {
  const Bound args(meter, "range", arguments, {"start", "stop", "step"});
  args.need(0);
  const Int first = args.integer(0, 0), second = args.integer(1, first);
  const Int start = args.has(1) ? first : 0, stop = args.has(1) ? second : first;
  const Int step = args.integer(2, 1);
  if (step == 0) meter.fail("range: the step must not be zero");
  constexpr Int kFar = Int{1} << 100;
  if (start > kFar || start < -kFar || stop > kFar || stop < -kFar) meter.fail("range: too long");
  const Int distance = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : step < -kFar ? kFar : -step;
  const Int n = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  if (n > kMaxRange) {
    meter.fail(fmt::format("range: {} numbers, at most {} are allowed", n, kMaxRange));
  }
  meter.values(static_cast<size_t>(n));
  std::vector<Value> numbers;
  for (Int i = 0; i < n; ++i) numbers.push_back(Value::integer(start + i * step));
  return Value::list(std::move(numbers));
}

Dict dict_of(Meter& meter, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) meter.fail("dict: one value at most is copied");
  for (const Value& source : arguments.positional) {
    if (const Dict* other = source.as_dict()) {
      meter.values(other->size());
      dict = *other;
      continue;
    }
    for (const Value& pair : iterate(meter, source)) {
      const std::vector<Value> two = iterate(meter, pair);
      if (two.size() != 2 || !Dict::is_key(two[0])) meter.fail("dict: expected pairs");
      meter.values(1);
      dict.set(two[0], two[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    dict.set(Value::string(name, arguments.names), value);
  }
  return dict;
}

Value joiner(Meter& meter, const Arguments& arguments) {
  const Bound args(meter, "joiner", arguments, {"sep"});
  const Value separator = args.has(0) ? *args.get(0) : Value::string(", ");
  return Value::function(
      {"joiner",
       [separator, used = std::make_shared<bool>(false)](Meter&, const Arguments&) {
         return std::exchange(*used, true) ? separator : Value::string("");
       },
       separator.height() + 1});
}

Value raise_exception(Meter& meter, const Arguments& arguments) {
  const Bound args(meter, "raise_exception", arguments, {"message"});
  meter.refuse(to_text(meter, args.need(0)).bytes());
}

Value strftime_now(Meter& meter, const Arguments& arguments) {
  const Bound args(meter, "strftime_now", arguments, {"format"});
  const Text& format = args.text(0);
  constexpr size_t kMaxFormat = 256;
  if (format.size() > kMaxFormat) meter.fail("strftime_now: the format is too long");
  const std::time_t now = meter.now();
  std::tm local = {};
  localtime_r(&now, &local);
  std::array<char, 1u << 14> buffer;
  // A letter before the format: an empty result is no failure then.
  const std::string with_mark = "." + format.bytes();
  const size_t n = std::strftime(buffer.data(), buffer.size(), with_mark.c_str(), &local);
  if (n == 0) meter.fail("strftime_now: the format gives too long a text");
  return Value::string(std::string_view(buffer.data() + 1, n - 1), origin_of(format));
}

}  // namespace

std::unordered_map<std::string, Value> globals(std::deque<Namespace>& spaces) {
  std::unordered_map<std::string, Value> all;
  const auto add = [&](const char* name, auto call) {
    all.emplace(name, Value::function({name, std::move(call)}));
  };
  add("range", range);
  add("dict", [](Meter& meter, const Arguments& arguments) {
    return Value::dict(dict_of(meter, arguments));
  });
  add("namespace", [&spaces](Meter& meter, const Arguments& arguments) {
    Namespace& space = spaces.emplace_back();
    const Dict entries = dict_of(meter, arguments);
    for (const auto& [key, value] : entries.entries()) {
      meter.step(space.entries.size() / kEntriesPerStep);  // it looks through them
      const Text name = to_text(meter, key);
      space.names = std::max(space.names, origin_of(name));
      space.set(name.bytes(), value);
    }
    return Value::space(&space);
  });
  add("joiner", joiner);
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
  return all;
}

}  // namespace maglio::jinja
