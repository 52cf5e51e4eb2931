#include "base/bytes.h"

#include <fmt/format.h>

#include "maglio/error.h"

namespace maglio {

std::string escaped(std::string_view text, size_t max_bytes) {
  std::string out;
  for (const char c : text.substr(0, max_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\'' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > max_bytes) out += fmt::format("… ({} bytes)", text.size());
  return out;
}

std::string ByteReader::where() const {
  if (name_.empty()) return fmt::format("{}: {}", source_, kind_);
  return fmt::format("{}: {} '{}'", source_, kind_, escaped(name_));
}

void ByteReader::fail_truncated(uint64_t n_wanted) const {
  throw Error(ErrorKind::bad_file, "Truncated",
              fmt::format("{}: the file is truncated or damaged: {} bytes expected at offset {}, "
                          "{} are left",
                          where(), n_wanted, position_, remaining()));
}

}  // namespace maglio
