#include "chat/jinja/arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace maglio::jinja {

Bound::Bound(Meter& meter,
             std::string_view function,
             const Arguments& arguments,
             std::initializer_list<std::string_view> parameters)
    : meter_(meter), function_(function), names_(parameters), values_(names_.size()) {
  if (arguments.positional.size() > names_.size()) {
    meter.fail(fmt::format("{}: {} arguments, at most {} are taken", function,
                           arguments.positional.size(), names_.size()));
  }
  std::copy(arguments.positional.begin(), arguments.positional.end(), values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto known = std::find(names_.begin(), names_.end(), name);
    if (known == names_.end()) meter.fail(fmt::format("{}: no parameter '{}'", function, name));
    auto& place = values_[static_cast<size_t>(known - names_.begin())];
    if (place) meter.fail(fmt::format("{}: '{}' is given twice", function, name));
    place = value;
  }
}

const Value& Bound::need(size_t i) const {
  if (!has(i)) meter_.fail(fmt::format("{}: the argument '{}' is missing", function_, names_[i]));
  return *values_[i];
}

const Text& Bound::text(size_t i) const {
  const Text* text = need(i).as_string();
  if (!text) {
    meter_.fail(fmt::format("{}: '{}' must be a string, not a {}", function_, names_[i],
                            need(i).type_name()));
  }
  return *text;
}

Int Bound::integer(size_t i, Int otherwise) const {
  if (!has(i)) return otherwise;
  const auto n = get(i)->as_integer();
  if (!n) {
    meter_.fail(fmt::format("{}: '{}' must be a whole number, not a {}", function_, names_[i],
                            get(i)->type_name()));
  }
  return *n;
}

}  // namespace maglio::jinja
