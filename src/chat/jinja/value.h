// The values of a template: Python's, as far as templates use them.
//
// Lists and dicts are never changed after they are made (the reference's sandbox forbids it, too),
// so values share them freely and no list can contain itself. Only a namespace can be written to;
// it belongs to the rendering, and values point at it. Nesting is bounded where it is made, so that
// whoever walks down a value may recurse.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/text.h"

namespace maglio::jinja {

class Value;
class Meter;
struct Sequence;
class Dict;
struct Function;
struct Namespace;
struct Loop;

// Lists in lists in lists: at most so many. Making a deeper one throws Error bad_file
// "TemplateLimit".
inline constexpr uint32_t kMaxHeight = 160;

// Wide enough for every number of a JSON text that fits 64 bits, signed or not.
using Int = __int128;

struct Undefined {
  std::string what;  // not long, for it is copied with the value; of which thing there is nothing:
                     // "'x' is undefined"
};
struct None {};

class Value {
 public:
  Value() : data_(None{}) {}
  static Value undefined(std::string what);
  static Value boolean(bool b) { return Value(b); }
  static Value integer(Int n, Origin origin = Origin::trusted) { return Value(n, origin); }
  static Value real(double x, Origin origin = Origin::trusted) { return Value(x, origin); }
  static Value string(Text text);
  static Value string(std::string_view text, Origin origin = Origin::trusted) {
    return string(Text(text, origin));
  }
  static Value list(std::vector<Value> items, Origin origin = Origin::trusted);
  static Value tuple(std::vector<Value> items);
  // What Python yields one by one: no length, no index, and gone once it was walked through.
  static Value generator(std::vector<Value> items);
  static Value dict(Dict dict, Origin origin = Origin::trusted);
  static Value function(Function function);
  static Value space(Namespace* space) { return Value(space); }
  static Value loop(Loop* loop) { return Value(loop); }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_string() const { return std::holds_alternative<std::shared_ptr<const Text>>(data_); }
  bool is_boolean() const { return std::holds_alternative<bool>(data_); }
  bool is_sequence() const { return as_sequence() != nullptr; }
  bool is_dict() const { return as_dict() != nullptr; }

  const Undefined* as_undefined() const { return std::get_if<Undefined>(&data_); }
  const bool* as_boolean() const { return std::get_if<bool>(&data_); }
  // Python's bool is an int.
  std::optional<Int> as_integer() const;
  const double* as_real() const { return std::get_if<double>(&data_); }
  std::optional<double> as_number() const;  // of any kind
  const Text* as_string() const { return pointer<const Text>(); }
  const Sequence* as_sequence() const { return pointer<const Sequence>(); }
  const Dict* as_dict() const { return pointer<const Dict>(); }
  const Function* as_function() const { return pointer<const Function>(); }
  Namespace* as_space() const { return plain<Namespace*>(); }
  Loop* as_loop() const { return plain<Loop*>(); }

  // Of a number, and of the brackets and commas of a list or dict when it is printed.
  Origin origin() const { return origin_; }

  // Of nested values: 0 for a scalar.
  uint32_t height() const;
  bool truthy() const;
  // As Python names its type: "str", "list", ...
  std::string_view type_name() const;

 private:
  using Data = std::variant<Undefined,
                            None,
                            bool,
                            Int,
                            double,
                            std::shared_ptr<const Text>,
                            std::shared_ptr<const Sequence>,
                            std::shared_ptr<const Dict>,
                            std::shared_ptr<const Function>,
                            Namespace*,
                            Loop*>;

  template <class T>
  explicit Value(T data, Origin origin = Origin::trusted)
      : data_(std::move(data)), origin_(origin) {}
  template <class T>
  T* pointer() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data_);
    return held ? held->get() : nullptr;
  }
  template <class T>
  T plain() const {
    const T* held = std::get_if<T>(&data_);
    return held ? *held : nullptr;
  }

  Data data_;
  Origin origin_ = Origin::trusted;
};

struct Sequence {
  enum class Form : uint8_t { list, tuple, generator };
  Form form = Form::list;
  std::vector<Value> items;
  mutable size_t taken = 0;  // of a generator: items that are gone
  uint32_t height = 0;
};

// Keys in the order in which they came, as in Python.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  uint32_t height() const { return height_; }
  // Requires: a key that can be one (is_key).
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  // A key that is there keeps its place.
  void set(Value key, Value value);
  void set(std::string_view key, Value value) { set(Value::string(key), std::move(value)); }
  void erase(std::string_view key);

  // Strings, numbers and None. (Python takes tuples, too; no template was seen to.)
  static bool is_key(const Value& value);

 private:
  std::vector<Entry> entries_;
  uint32_t height_ = 1;
  std::unordered_map<std::string, size_t> index_;  // by the key's name (key_name)
};

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  Origin names = Origin::trusted;  // said: a ** has brought names that somebody else wrote
};

struct Function {
  std::string name;
  std::function<Value(Meter&, const Arguments&)> call;
  uint32_t height = 1;  // of what it is bound to
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> entries;
  Origin names = Origin::trusted;
  Value* find(std::string_view name);
  void set(std::string_view name, Value value);
};

// The variable `loop` inside a loop; like a namespace it belongs to the rendering.
struct Loop {
  std::vector<Value> items;
  size_t index0 = 0;
  size_t depth0 = 0;
  std::optional<Value> changed_before = {};                 // arguments of the last loop.changed()
  std::function<Value(Meter&, const Value&)> recurse = {};  // of a recursive loop
};

// Python's ==; an undefined value equals only another one.
bool equal(Meter& meter, const Value& a, const Value& b);

}  // namespace maglio::jinja
