#include "text/normalize.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "base/utf8.h"

namespace maglio {
namespace {

void append_nfc(std::string& out, std::string_view valid) {
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(valid.data()),
                   static_cast<utf8proc_ssize_t>(valid.size()), &mapped,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  if (size < 0) {
    out.append(valid);  // out of memory is the only way: the text is valid
  } else {
    out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  }
}

}  // namespace

std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t from = 0;  // start of the valid run
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    if (step.state != Utf8State::whole) {
      append_nfc(out, text.substr(from, at - from));
      out.append(text.substr(at, step.size));
      from = at + step.size;
    }
    at += step.size;
  }
  append_nfc(out, text.substr(from));
  return out;
}

}  // namespace maglio
