#include "chat/jinja/meter.h"

#include <fmt/format.h>

#include "base/escaped.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

constexpr size_t kBytesPerStep = 16;
constexpr size_t kMaxMessage = 400;  // [bytes]

std::string placed(Position at, std::string_view message) {
  return fmt::format("chat template, line {}, column {}: {}", at.line, at.column, message);
}

}  // namespace

void Meter::text(size_t bytes) {
  if (bytes > limits_.text_bytes) too_long(bytes);
  step(bytes / kBytesPerStep);
}

void Meter::grow(size_t bytes, size_t more) {
  if (more > limits_.text_bytes || bytes + more > limits_.text_bytes) too_long(bytes + more);
  loose_bytes_ += more;
  step(loose_bytes_ / kBytesPerStep);
  loose_bytes_ %= kBytesPerStep;
}

void Meter::fail(std::string_view message) const {
  throw Error(ErrorKind::bad_request, "TemplateError", placed(at, message));
}

void Meter::refuse(std::string_view message) const {
  throw Error(ErrorKind::bad_request, "TemplateRefused", placed(at, escaped(message, kMaxMessage)));
}

void Meter::out_of_steps() const {
  throw Error(ErrorKind::bad_file, "TemplateLimit",
              placed(at, fmt::format("not done after {} steps", limits_.steps)));
}

void Meter::too_long(size_t bytes) const {
  throw Error(ErrorKind::bad_file, "TemplateLimit",
              placed(at, fmt::format("a text of {} bytes, at most {} are allowed", bytes,
                                     limits_.text_bytes)));
}

void Meter::too_deep() {
  --depth_;  // the level's destructor does not run
  throw Error(ErrorKind::bad_file, "TemplateLimit",
              placed(at, fmt::format("nested deeper than {} levels", limits_.depth)));
}

}  // namespace maglio::jinja
