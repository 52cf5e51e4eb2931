#include "base/bytes.h"

#include <fmt/format.h>

#include "base/escaped.h"
#include "maglio/error.h"

namespace maglio {

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
