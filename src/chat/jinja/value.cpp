#include "chat/jinja/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "chat/jinja/meter.h"
#include "chat/jinja/number_text.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

// Equal keys have equal names: 1, 1.0 and True are one key to Python.
std::string key_name(const Value& key) {
  if (const Text* text = key.as_string()) return "s" + text->bytes();
  if (key.is_none()) return "none";
  if (const auto whole = key.as_integer()) return "n" + print(*whole);
  const double x = key.as_number().value_or(0);
  const auto whole = exact_integer(x);
  return "n" + (whole ? print(*whole) : print(x));
}

bool equal_items(Meter& meter, const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Value& x, const Value& y) { return equal(meter, x, y); });
}

bool equal_dicts(Meter& meter, const Dict& a, const Dict& b) {
  return a.size() == b.size() &&
         std::all_of(a.entries().begin(), a.entries().end(), [&](const Dict::Entry& entry) {
           const Value* other = b.find(entry.first);
           return other && equal(meter, entry.second, *other);
         });
}

void check_height(uint32_t height) {
  if (height <= kMaxHeight) return;
  throw Error(ErrorKind::bad_file, "TemplateLimit",
              fmt::format("chat template: values nested deeper than {} levels", kMaxHeight));
}

std::shared_ptr<const Sequence> make_sequence(Sequence::Form form, std::vector<Value> items) {
  uint32_t height = 0;
  for (const Value& item : items) height = std::max(height, item.height());
  check_height(height + 1);
  return std::make_shared<const Sequence>(Sequence{form, std::move(items), 0, height + 1});
}

}  // namespace

Value Value::undefined(std::string what) {
  constexpr size_t kLongest = 200;
  if (what.size() > kLongest) what = what.substr(0, kLongest) + "...";
  return Value(Undefined{std::move(what)});
}
Value Value::string(Text text) {
  return Value(std::make_shared<const Text>(std::move(text)));
}
Value Value::list(std::vector<Value> items, Origin origin) {
  return Value(make_sequence(Sequence::Form::list, std::move(items)), origin);
}
Value Value::tuple(std::vector<Value> items) {
  return Value(make_sequence(Sequence::Form::tuple, std::move(items)));
}
Value Value::generator(std::vector<Value> items) {
  return Value(make_sequence(Sequence::Form::generator, std::move(items)));
}
Value Value::dict(Dict dict, Origin origin) {
  return Value(std::make_shared<const Dict>(std::move(dict)), origin);
}
Value Value::function(Function function) {
  check_height(function.height);
  return Value(std::make_shared<const Function>(std::move(function)));
}

std::optional<Int> Value::as_integer() const {
  if (const bool* b = as_boolean()) return *b ? 1 : 0;
  if (const Int* n = std::get_if<Int>(&data_)) return *n;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const double* x = as_real()) return *x;
  if (const auto n = as_integer()) return static_cast<double>(*n);
  return std::nullopt;
}

uint32_t Value::height() const {
  if (const Sequence* s = as_sequence()) return s->height;
  if (const Dict* d = as_dict()) return d->height();
  if (const Function* f = as_function()) return f->height;
  return 0;
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (const auto n = as_integer()) return *n != 0;
  if (const double* x = as_real()) return *x != 0;
  if (const Text* text = as_string()) return !text->empty();
  if (const Sequence* s = as_sequence()) {
    return s->form == Sequence::Form::generator || !s->items.empty();
  }
  if (const Dict* d = as_dict()) return d->size() > 0;
  return true;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_boolean()) return "bool";
  if (as_integer()) return "int";
  if (as_real()) return "float";
  if (is_string()) return "str";
  if (const Sequence* s = as_sequence()) {
    switch (s->form) {
      case Sequence::Form::list:
        return "list";
      case Sequence::Form::tuple:
        return "tuple";
      case Sequence::Form::generator:
        return "generator";
    }
  }
  if (is_dict()) return "dict";
  if (as_space()) return "Namespace";
  return as_loop() ? "LoopContext" : "function";
}

bool Dict::is_key(const Value& value) {
  return value.is_string() || value.is_none() || value.as_number();
}

const Value* Dict::find(const Value& key) const {
  const auto found = index_.find(key_name(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = index_.find("s" + std::string(key));
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dict::set(Value key, Value value) {
  height_ = std::max({height_, key.height() + 1, value.height() + 1});
  check_height(height_);
  const auto [found, is_new] = index_.try_emplace(key_name(key), entries_.size());
  if (is_new) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[found->second].second = std::move(value);
  }
}

void Dict::erase(std::string_view key) {
  std::vector<Entry> kept;
  for (Entry& entry : entries_) {
    const Text* name = entry.first.as_string();
    if (!name || name->bytes() != key) kept.push_back(std::move(entry));
  }
  entries_.clear();
  index_.clear();
  for (Entry& entry : kept) set(std::move(entry.first), std::move(entry.second));
}

Value* Namespace::find(std::string_view name) {
  for (auto& [known, value] : entries) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Namespace::set(std::string_view name, Value value) {
  if (Value* known = find(name)) {
    *known = std::move(value);
  } else {
    entries.emplace_back(name, std::move(value));
  }
}

bool equal(Meter& meter, const Value& a, const Value& b) {
  meter.step();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const auto na = a.as_integer(), nb = b.as_integer();
  if (na && nb) return *na == *nb;
  if (const double *xa = a.as_real(), *xb = b.as_real(); xa && xb) return *xa == *xb;
  if (const double* xb = b.as_real(); na && xb) return exact_integer(*xb) == na;
  if (const double* xa = a.as_real(); nb && xa) return exact_integer(*xa) == nb;
  if (const Text *ta = a.as_string(), *tb = b.as_string(); ta && tb) {
    if (ta->size() == tb->size()) meter.text(ta->size());
    return ta->bytes() == tb->bytes();
  }
  if (const Sequence *sa = a.as_sequence(), *sb = b.as_sequence(); sa && sb) {
    if (sa == sb) return true;
    return sa->form == sb->form && sa->form != Sequence::Form::generator &&
           equal_items(meter, sa->items, sb->items);
  }
  if (a.as_dict() && b.as_dict()) return equal_dicts(meter, *a.as_dict(), *b.as_dict());
  if (a.as_function()) return a.as_function() == b.as_function();
  if (a.as_space()) return a.as_space() == b.as_space();
  return a.as_loop() && a.as_loop() == b.as_loop();
}

}  // namespace maglio::jinja
