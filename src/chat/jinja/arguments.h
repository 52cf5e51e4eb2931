// The arguments of a call, sorted to a function's parameters as Python sorts them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

class Bound {
 public:
  // Throws: Error bad_request "TemplateError" for too many arguments, or one of an unknown name.
  Bound(Meter& meter,
        std::string_view function,
        const Arguments& arguments,
        std::initializer_list<std::string_view> parameters);

  bool has(size_t i) const { return values_[i].has_value(); }
  // Null where the argument was not given, or is None where that means the same.
  const Value* get(size_t i) const { return has(i) ? &*values_[i] : nullptr; }
  // Throws, as do the others: Error bad_request "TemplateError" where it is missing or of another
  // type.
  const Value& need(size_t i) const;
  const Text& text(size_t i) const;
  Int integer(size_t i, Int otherwise) const;
  bool truthy(size_t i, bool otherwise) const { return has(i) ? get(i)->truthy() : otherwise; }

 private:
  Meter& meter_;
  std::string_view function_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace maglio::jinja
