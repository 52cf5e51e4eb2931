#include "text/unicode.h"

#include <cstddef>

namespace maglio {
namespace {

#include "text/unicode_tables.inc"

constexpr size_t kBlock = sizeof(kClasses[0]);
static_assert(sizeof(kClassBlocks) * kBlock == 0x110000);

}  // namespace

uint8_t char_class(char32_t code_point) {
  if (code_point > 0x10FFFF) return 0;
  return kClasses[kClassBlocks[code_point / kBlock]][code_point % kBlock];
}

}  // namespace maglio
