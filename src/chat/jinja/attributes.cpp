#include "chat/jinja/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

Value nothing(Meter& meter, const Value& object, const Value& key) {
  constexpr size_t kShown = 100;
  const std::string name = key.is_string()
                               ? "attribute '" + key.as_string()->bytes().substr(0, kShown) + "'"
                               : "element " + to_repr(meter, key).bytes();
  return Value::undefined(fmt::format("a value of type {} has no {}", object.type_name(), name));
}

Value loop_attribute(Meter& meter, Loop* loop, std::string_view name) {
  const std::vector<Value>& items = loop->items;
  const auto number = [](size_t n) { return Value::integer(static_cast<Int>(n)); };
  const size_t i = loop->index0;
  if (name == "index0") return number(i);
  if (name == "index") return number(i + 1);
  if (name == "revindex0") return number(items.size() - i - 1);
  if (name == "revindex") return number(items.size() - i);
  if (name == "length") return number(items.size());
  if (name == "first") return Value::boolean(i == 0);
  if (name == "last") return Value::boolean(i + 1 == items.size());
  if (name == "depth0") return number(loop->depth0);
  if (name == "depth") return number(loop->depth0 + 1);
  if (name == "previtem")
    return i > 0 ? items[i - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") {
    return i + 1 < items.size() ? items[i + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle") {
    return Value::function({"cycle", [loop](Meter& m, const Arguments& args) {
                              if (args.positional.empty()) m.fail("loop.cycle: nothing to cycle");
                              return args.positional[loop->index0 % args.positional.size()];
                            }});
  }
  if (name == "changed") {
    return Value::function({"changed", [loop](Meter& m, const Arguments& args) {
                              Value now = Value::tuple(args.positional);
                              const bool changed =
                                  !loop->changed_before || !equal(m, *loop->changed_before, now);
                              loop->changed_before = std::move(now);
                              return Value::boolean(changed);
                            }});
  }
  return nothing(meter, Value::loop(loop), Value::string(name));
}

// What object[key] is in Python; nothing where it raises.
const Value* element(Meter& meter, const Value& object, const Value& key) {
  if (const Dict* dict = object.as_dict()) {
    if (!Dict::is_key(key)) return nullptr;
    if (key.is_string()) meter.text(key.as_string()->size());
    return dict->find(key);
  }
  const Sequence* s = object.as_sequence();
  const auto index = key.as_integer();
  if (!s || !index || s->form == Sequence::Form::generator) return nullptr;
  const auto size = static_cast<Int>(s->items.size());
  const Int at = *index < 0 ? *index + size : *index;
  return at >= 0 && at < size ? &s->items[static_cast<size_t>(at)] : nullptr;
}

}  // namespace

Value attribute(Meter& meter, const Value& object, std::string_view name) {
  if (const Undefined* missing = object.as_undefined()) meter.fail(missing->what);
  if (Loop* loop = object.as_loop()) return loop_attribute(meter, loop, name);
  if (Namespace* space = object.as_space()) {
    meter.step(space->entries.size() / kEntriesPerStep);
    if (const Value* found = space->find(name)) return *found;
    return nothing(meter, object, Value::string(name));
  }
  if (auto bound = method(object, name)) return *std::move(bound);
  const Value key = Value::string(name);
  if (const Value* found = element(meter, object, key)) return *found;
  return nothing(meter, object, key);
}

Value item(Meter& meter, const Value& object, const Value& key) {
  if (const Undefined* missing = object.as_undefined()) meter.fail(missing->what);
  if (const Value* found = element(meter, object, key)) return *found;
  if (const Text* text = object.as_string(); text && key.as_integer()) {
    meter.text(text->size());
    const auto n = static_cast<Int>(count_characters(text->bytes()));
    const Int at = *key.as_integer() < 0 ? *key.as_integer() + n : *key.as_integer();
    if (at < 0 || at >= n) return nothing(meter, object, key);
    const auto i = static_cast<int64_t>(at);
    return Value::string(slice(*text, i, i + 1, 1));
  }
  if (const Text* name = key.as_string()) {
    if (object.as_loop() || object.as_space()) return attribute(meter, object, name->bytes());
    if (auto bound = method(object, name->bytes())) return *std::move(bound);
  }
  return nothing(meter, object, key);
}

Value slice_of(
    Meter& meter, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (const Undefined* missing = object.as_undefined()) meter.fail(missing->what);
  bool whole = true;
  const auto bound = [&](const Value& value) -> std::optional<int64_t> {
    if (value.is_none()) return std::nullopt;
    const auto n = value.as_integer();
    whole = whole && n.has_value();
    constexpr Int kMost = std::numeric_limits<int64_t>::max() / 4;
    return n ? std::optional(static_cast<int64_t>(std::clamp<Int>(*n, -kMost, kMost))) : 0;
  };
  const auto from = bound(start), to = bound(stop);
  const int64_t by = bound(step).value_or(1);
  const Sequence* s = object.as_sequence();
  const bool sliceable = object.is_string() || (s && s->form != Sequence::Form::generator);
  if (!whole || by == 0 || !sliceable) {
    if (by == 0 && sliceable) meter.fail("a slice with step zero");
    return nothing(meter, object, Value::string("slice"));
  }
  if (const Text* text = object.as_string()) {
    meter.text(text->size());
    return Value::string(slice(*text, from, to, by));
  }
  std::vector<Value> items;
  const Picked picked = pick(s->items.size(), from, to, by);
  meter.step(picked.count);
  for (size_t i = 0; i < picked.count; ++i) items.push_back(s->items[picked.at(i)]);
  return s->form == Sequence::Form::tuple ? Value::tuple(std::move(items))
                                          : Value::list(std::move(items), object.origin());
}

size_t length(Meter& meter, const Value& value) {
  if (value.is_undefined()) return 0;
  if (const Text* text = value.as_string()) {
    meter.text(text->size());
    return count_characters(text->bytes());
  }
  if (const Dict* dict = value.as_dict()) return dict->size();
  const Sequence* s = value.as_sequence();
  if (s && s->form != Sequence::Form::generator) return s->items.size();
  if (const Loop* loop = value.as_loop()) return loop->items.size();
  meter.fail(fmt::format("a value of type {} has no length", value.type_name()));
}

}  // namespace maglio::jinja
