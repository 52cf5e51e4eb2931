#include "kernels/registry.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <string>

#include "kernels/cpu.h"
#include "maglio/error.h"

namespace maglio {
namespace {

// Every name that MAGLIO_ISA may have, whether or not this build has its unit.
constexpr std::array<std::string_view, 7> kNames = {"scalar",     "avx2", "avxvnni",  "avx512",
                                                    "avx512vnni", "neon", "neon_i8mm"};

std::string names_of(const std::vector<const Kernels*>& tables) {
  std::string list;
  for (const Kernels* t : tables) list += (list.empty() ? "" : ", ") + std::string(t->name);
  return list;
}

}  // namespace

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> tables = {&kernels_scalar};
#if defined(__x86_64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.avx2) tables.push_back(&kernels_avx2);
  if (cpu.avx_vnni) tables.push_back(&kernels_avxvnni);
  if (cpu.avx512) tables.push_back(&kernels_avx512);
  if (cpu.avx512_vnni) tables.push_back(&kernels_avx512vnni);
#elif defined(__aarch64__)
  const CpuFeatures cpu = cpu_features();
  if (cpu.neon) tables.push_back(&kernels_neon);
  if (cpu.neon_i8mm) tables.push_back(&kernels_neon_i8mm);
#endif
  return tables;
}

const Kernels* find_kernels(std::string_view name) {
  const std::vector<const Kernels*> tables = available_kernels();
  if (name.empty()) return tables.back();
  for (const Kernels* t : tables) {
    if (name == t->name) return t;
  }
  const std::string quoted = "instruction set \"" + std::string(name) + "\" ";
  const bool known = std::ranges::find(kNames, name) != kNames.end();
  throw Error(ErrorKind::unsupported, "IsaNotAvailable",
              quoted + (known ? "is not available here" : "is unknown and so not available here") +
                  "; available: " + names_of(tables));
}

const Kernels& active_kernels() {
  static const Kernels* const active = [] {
    const char* wish = std::getenv("MAGLIO_ISA");
    return find_kernels(wish == nullptr ? "" : wish);
  }();
  return *active;
}

const FormatKernels& format_kernels(const Kernels& kernels, DType dtype) {
  for (const FormatKernels& f : kernels.formats) {
    if (f.dtype == dtype) return f;
  }
  assert(false && "callers check is_weight_format");
  return kernels.formats[0];
}

}  // namespace maglio
