// How fast matrices are packed at load, for each format and instruction set, beside copying memory:
// one thread, a matrix larger than the caches, best of the rounds. GB/s counts bytes of the file.
//
//   bench_pack [rounds]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/aligned_bytes.h"
#include "kernels/registry.h"

namespace {

using namespace maglio;

constexpr size_t kRows = 32'768, kColumns = 1024;

double best_seconds(int rounds, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
  fmt::print("{:8}{:>10}", "GB/s", "memcpy");
  for (const Kernels* kernels : available_kernels()) fmt::print("{:>14}", kernels->name);
  for (const FormatKernels& any : available_kernels().front()->formats) {
    const size_t stored = row_bytes(any.dtype, kColumns);
    const AlignedBytes rows(kRows * stored);
    std::memset(rows.data(), 0x3c, rows.size());
    const AlignedBytes panels(kRows / kPanelRows * any.panel_bytes(kColumns));
    const auto rate = [&](const std::function<void()>& work) {
      work();  // takes the pages
      return static_cast<double>(rows.size()) / best_seconds(rounds, work) / 1e9;
    };
    fmt::print("\n{:8}{:10.1f}", to_string(any.dtype), rate([&] {
                 std::memcpy(panels.data(), rows.data(), std::min(rows.size(), panels.size()));
               }));
    for (const Kernels* kernels : available_kernels()) {
      const FormatKernels& format = format_kernels(*kernels, any.dtype);
      fmt::print("{:14.1f}", rate([&] {
                   for (size_t row = 0; row < kRows; row += kPanelRows) {
                     format.pack_panel(
                         rows.data() + row * stored, stored, kPanelRows, kColumns,
                         panels.data() + row / kPanelRows * format.panel_bytes(kColumns));
                   }
                 }));
    }
  }
  fmt::print("\n");
  return 0;
}
