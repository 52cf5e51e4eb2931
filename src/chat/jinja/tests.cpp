#include "chat/jinja/tests.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "chat/jinja/arguments.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"

namespace maglio::jinja {
namespace {

using Order = Comparison::Op;

template <Order order>
bool compares(Meter& meter, const Value& value, const Arguments& arguments) {
  const Bound args(meter, "comparison", arguments, {"other"});
  return compare(meter, order, value, args.need(0));
}

bool is_iterable(Meter&, const Value& v, const Arguments&) {
  return v.is_string() || v.is_sequence() || v.is_dict() || v.is_undefined() || v.as_loop();
}
bool is_sequence(Meter&, const Value& v, const Arguments&) {
  const Sequence* s = v.as_sequence();
  return v.is_string() || v.is_dict() || v.is_undefined() ||
         (s && s->form != Sequence::Form::generator);
}
bool is_callable(Meter&, const Value& v, const Arguments&) {
  return v.as_function() || v.is_undefined() || v.as_loop();
}

Int whole(Meter& meter, const Value& v) {
  const auto n = v.as_integer();
  if (!n) meter.fail("the test needs a whole number");
  return *n;
}
bool is_even(Meter& meter, const Value& v, const Arguments&) {
  return whole(meter, v) % 2 == 0;
}
bool is_odd(Meter& meter, const Value& v, const Arguments&) {
  return whole(meter, v) % 2 != 0;
}
bool is_divisible(Meter& meter, const Value& v, const Arguments& arguments) {
  const Bound args(meter, "divisibleby", arguments, {"num"});
  const Int by = args.integer(0, 0);
  if (by == 0) meter.fail("division by zero");
  return by == -1 || whole(meter, v) % by == 0;
}

bool is_same(Meter& meter, const Value& v, const Arguments& arguments) {
  const Bound args(meter, "sameas", arguments, {"other"});
  return v.type_name() == args.need(0).type_name() && equal(meter, v, args.need(0));
}

template <Case to>
bool is_case(Meter& meter, const Value& v, const Arguments&) {
  if (const Text* text = v.as_string()) return is_in_case(text->bytes(), to);
  return is_in_case(to_text(meter, v).bytes(), to);
}

bool is_filter(Meter&, const Value& v, const Arguments&) {
  return v.is_string() && find_filter(v.as_string()->bytes());
}
bool is_test(Meter&, const Value& v, const Arguments&) {
  return v.is_string() && find_test(v.as_string()->bytes());
}

struct Entry {
  std::string_view name;
  Test test;
};

constexpr std::array<Entry, 39> kTests = {{
    {"defined", [](Meter&, const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"undefined", [](Meter&, const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"none", [](Meter&, const Value& v, const Arguments&) { return v.is_none(); }},
    {"boolean", [](Meter&, const Value& v, const Arguments&) { return v.is_boolean(); }},
    {"true",
     [](Meter&, const Value& v, const Arguments&) { return v.as_boolean() && *v.as_boolean(); }},
    {"false",
     [](Meter&, const Value& v, const Arguments&) { return v.as_boolean() && !*v.as_boolean(); }},
    {"string", [](Meter&, const Value& v, const Arguments&) { return v.is_string(); }},
    {"mapping", [](Meter&, const Value& v, const Arguments&) { return v.is_dict(); }},
    {"number", [](Meter&, const Value& v, const Arguments&) { return v.as_number().has_value(); }},
    {"integer",
     [](Meter&, const Value& v, const Arguments&) {
       return v.as_integer().has_value() && !v.is_boolean();
     }},
    {"float", [](Meter&, const Value& v, const Arguments&) { return v.as_real() != nullptr; }},
    {"iterable", is_iterable},
    {"sequence", is_sequence},
    {"callable", is_callable},
    {"escaped",
     [](Meter&, const Value& v, const Arguments&) {
       return v.is_string() && v.as_string()->markup;
     }},
    {"even", is_even},
    {"odd", is_odd},
    {"divisibleby", is_divisible},
    {"sameas", is_same},
    {"upper", is_case<Case::upper>},
    {"lower", is_case<Case::lower>},
    {"filter", is_filter},
    {"test", is_test},
    {"in", compares<Order::in>},
    {"eq", compares<Order::eq>},
    {"==", compares<Order::eq>},
    {"equalto", compares<Order::eq>},
    {"ne", compares<Order::ne>},
    {"!=", compares<Order::ne>},
    {"lt", compares<Order::lt>},
    {"<", compares<Order::lt>},
    {"lessthan", compares<Order::lt>},
    {"le", compares<Order::le>},
    {"<=", compares<Order::le>},
    {"gt", compares<Order::gt>},
    {">", compares<Order::gt>},
    {"greaterthan", compares<Order::gt>},
    {"ge", compares<Order::ge>},
    {">=", compares<Order::ge>},
}};

}  // namespace

Test find_test(std::string_view name) {
  const auto found = std::find_if(kTests.begin(), kTests.end(),
                                  [&](const Entry& entry) { return entry.name == name; });
  return found == kTests.end() ? nullptr : found->test;
}

}  // namespace maglio::jinja
