#include "chat/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "chat/jinja/format.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

using Op = Binary::Op;

std::string_view symbol_of(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::subtract:
      return "-";
    case Op::multiply:
      return "*";
    case Op::divide:
      return "/";
    case Op::floor_divide:
      return "//";
    case Op::modulo:
      return "%";
    case Op::power:
      return "**";
    case Op::logical_and:
      return "and";
    case Op::logical_or:
      return "or";
  }
  return "?";
}

void refuse_undefined(Meter& meter, const Value& value) {
  if (const Undefined* nothing = value.as_undefined()) meter.fail(nothing->what);
}

Int floor_divided(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// base to the power of exponent; true where it does not fit. Requires: exponent >= 0.
bool raised(Int base, Int exponent, Int& out) {
  out = exponent == 0 || base == 1 ? 1 : base;
  if (base == 0 || base == 1) return false;
  if (base == -1) {
    out = exponent % 2 == 0 ? 1 : -1;
    return false;
  }
  for (Int i = 1; i < exponent; ++i) {
    if (__builtin_mul_overflow(out, base, &out)) return true;
  }
  return false;
}

Value whole_arithmetic(Meter& meter, Op op, Int a, Int b, Origin origin) {
  Int out = 0;
  bool overflow = false;
  const auto refuse_zero = [&] {
    if (b == 0) meter.fail("division by zero");
  };
  switch (op) {
    case Op::add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case Op::subtract:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case Op::multiply:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case Op::divide:
      refuse_zero();
      return Value::real(static_cast<double>(a) / static_cast<double>(b), origin);
    case Op::floor_divide:
      refuse_zero();
      overflow = b == -1 && __builtin_sub_overflow(Int{0}, a, &out);
      if (b != -1) out = floor_divided(a, b);
      break;
    case Op::modulo:
      refuse_zero();
      if (b != -1) out = a - floor_divided(a, b) * b;
      break;
    case Op::power:
      if (b < 0) {
        if (a == 0) meter.fail("0 cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)), origin);
      }
      overflow = raised(a, b, out);
      break;
    case Op::logical_and:
    case Op::logical_or:
      break;
  }
  if (overflow) meter.fail("a number that does not fit 128 bits");
  return Value::integer(out, origin);
}

Value real_arithmetic(Meter& meter, Op op, double a, double b, Origin origin) {
  const bool divides = op == Op::divide || op == Op::floor_divide || op == Op::modulo;
  if (divides && b == 0) meter.fail("division by zero");
  const auto result = [&] {
    switch (op) {
      case Op::add:
        return a + b;
      case Op::subtract:
        return a - b;
      case Op::multiply:
        return a * b;
      case Op::divide:
        return a / b;
      case Op::floor_divide:
        return std::floor((a - floor_modulo(a, b)) / b);
      case Op::modulo:
        return floor_modulo(a, b);
      case Op::power:
        return std::pow(a, b);
      case Op::logical_and:
      case Op::logical_or:
        break;
    }
    return 0.0;
  };
  return Value::real(result(), origin);
}

Value repeated(Meter& meter, const Sequence& s, Int n, Origin origin) {
  const auto size = static_cast<Int>(s.items.size());
  const Int times = std::max<Int>(n, 0);
  constexpr Int kMany = Int{1} << 40;  // more than any number of steps
  meter.values(static_cast<size_t>(size == 0 ? 0 : std::min(times, kMany) * size));
  std::vector<Value> items;
  for (Int i = 0; i < times && size > 0; ++i) {
    items.insert(items.end(), s.items.begin(), s.items.end());
  }
  return s.form == Sequence::Form::tuple ? Value::tuple(std::move(items))
                                         : Value::list(std::move(items), origin);
}

// Text, lists and tuples, where numbers do not fit. Nothing where these do not fit either.
std::optional<Value> sequence_arithmetic(Meter& meter, Op op, const Value& a, const Value& b) {
  const Text *ta = a.as_string(), *tb = b.as_string();
  const Sequence *sa = a.as_sequence(), *sb = b.as_sequence();
  if (op == Op::modulo && ta) return Value::string(percent_format(meter, *ta, b));
  if (op == Op::add && ta && tb) return Value::string(add(meter, *ta, *tb));
  if (op == Op::add && sa && sb && sa->form == sb->form && sa->form != Sequence::Form::generator) {
    meter.values(sa->items.size() + sb->items.size());
    std::vector<Value> items = sa->items;
    items.insert(items.end(), sb->items.begin(), sb->items.end());
    return sa->form == Sequence::Form::tuple ? Value::tuple(std::move(items))
                                             : Value::list(std::move(items), a.origin());
  }
  if (op != Op::multiply) return std::nullopt;
  const auto times = a.as_integer() ? a.as_integer() : b.as_integer();
  const Text* text = ta ? ta : tb;
  const Sequence* sequence = sa ? sa : sb;
  if (!times) return std::nullopt;
  if (text) {
    constexpr Int kMost = std::numeric_limits<int64_t>::max();
    return Value::string(
        repeat(meter, *text, static_cast<int64_t>(std::clamp<Int>(*times, 0, kMost))));
  }
  if (sequence && sequence->form != Sequence::Form::generator) {
    return repeated(meter, *sequence, *times, sa ? a.origin() : b.origin());
  }
  return std::nullopt;
}

bool less_items(Meter& meter, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (!equal(meter, a[i], b[i])) return less(meter, a[i], b[i]);
  }
  return a.size() < b.size();
}

}  // namespace

Value arithmetic(Meter& meter, Op op, const Value& a, const Value& b) {
  const bool formats = op == Op::modulo && a.is_string();
  refuse_undefined(meter, a);
  if (!formats) refuse_undefined(meter, b);
  const Origin origin = std::max(a.origin(), b.origin());
  const auto na = a.as_integer(), nb = b.as_integer();
  if (na && nb) return whole_arithmetic(meter, op, *na, *nb, origin);
  const auto xa = a.as_number(), xb = b.as_number();
  if (xa && xb) return real_arithmetic(meter, op, *xa, *xb, origin);
  if (auto result = sequence_arithmetic(meter, op, a, b)) return *std::move(result);
  meter.fail(fmt::format("unsupported operand types for {}: '{}' and '{}'", symbol_of(op),
                         a.type_name(), b.type_name()));
}

Value negative(Meter& meter, const Value& a) {
  refuse_undefined(meter, a);
  if (const auto n = a.as_integer()) {
    return whole_arithmetic(meter, Op::subtract, 0, *n, a.origin());
  }
  if (const double* x = a.as_real()) return Value::real(-*x, a.origin());
  meter.fail(fmt::format("a value of type {} has no sign", a.type_name()));
}

bool less(Meter& meter, const Value& a, const Value& b) {
  meter.step();
  refuse_undefined(meter, a);
  refuse_undefined(meter, b);
  const auto na = a.as_integer(), nb = b.as_integer();
  if (na && nb) return *na < *nb;
  const auto xa = a.as_number(), xb = b.as_number();
  if (xa && xb) return *xa < *xb;
  if (const Text *ta = a.as_string(), *tb = b.as_string(); ta && tb) {
    meter.text(std::min(ta->size(), tb->size()));
    return ta->bytes() < tb->bytes();  // in UTF-8, bytes are ordered as code points
  }
  const Sequence *sa = a.as_sequence(), *sb = b.as_sequence();
  if (sa && sb && sa->form == sb->form && sa->form != Sequence::Form::generator) {
    return less_items(meter, sa->items, sb->items);
  }
  meter.fail(fmt::format("'{}' and '{}' cannot be put in an order", a.type_name(), b.type_name()));
}

bool contains(Meter& meter, const Value& container, const Value& item) {
  if (const Text* text = container.as_string()) {
    refuse_undefined(meter, item);
    if (!item.is_string()) {
      meter.fail(
          fmt::format("'in <string>' needs a string on its left, not '{}'", item.type_name()));
    }
    meter.text(text->size());
    return find_first(text->bytes(), item.as_string()->bytes()) != std::string::npos;
  }
  if (const Dict* dict = container.as_dict()) {
    if (item.is_undefined()) return false;
    if (!Dict::is_key(item)) meter.fail(fmt::format("a {} is no key", item.type_name()));
    if (item.is_string()) meter.text(item.as_string()->size());
    return dict->find(item) != nullptr;
  }
  const auto items = iterate(meter, container);
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& other) { return equal(meter, item, other); });
}

bool compare(Meter& meter, Comparison::Op op, const Value& a, const Value& b) {
  using Order = Comparison::Op;
  const auto same = [&] { return equal(meter, a, b); };
  // NaN is neither less nor equal, so >= is not the opposite of <.
  switch (op) {
    case Order::eq:
      return same();
    case Order::ne:
      return !same();
    case Order::lt:
      return less(meter, a, b);
    case Order::le:
      return less(meter, a, b) || same();
    case Order::gt:
      return less(meter, b, a);
    case Order::ge:
      return less(meter, b, a) || same();
    case Order::in:
      return contains(meter, b, a);
    case Order::not_in:
      return !contains(meter, b, a);
  }
  return false;
}

std::vector<Value> iterate(Meter& meter, const Value& value) {
  std::vector<Value> items;
  if (const Sequence* s = value.as_sequence()) {
    const size_t gone = s->form == Sequence::Form::generator ? s->taken : 0;
    meter.step(s->items.size() - gone);
    items.assign(s->items.begin() + static_cast<std::ptrdiff_t>(gone), s->items.end());
    s->taken = s->items.size();
  } else if (const Dict* dict = value.as_dict()) {
    meter.step(dict->size());
    for (const auto& entry : dict->entries()) items.push_back(entry.first);
  } else if (const Text* text = value.as_string()) {
    meter.values(text->size());
    for (Text& c : characters(*text)) items.push_back(Value::string(std::move(c)));
  } else if (!value.is_undefined()) {
    meter.fail(fmt::format("a value of type {} is not iterable", value.type_name()));
  }
  return items;
}

}  // namespace maglio::jinja
