// How fast the matrix products are, for each format and number of rows, beside the speed of
// reading.
//
//   bench_matmul [--formats Q8_0,Q4_K] [--rows 1,2,512] [--threads 2] [--seconds 0.4] [--k 1024]
//   [--outputs 3072]
//
// The weights are several copies of one matrix, together far larger than the last-level cache, so
// that one row (decoding) meets memory as in a real model. GMAC/s counts products of activations
// and weights with the quantization of the activations included; GB/s counts packed bytes. Rates
// are the best of the rounds, with the median in parentheses; compare figures of one run only.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_bytes.h"
#include "base/cpu_count.h"
#include "base/thread_pool.h"
#include "kernels/registry.h"
#include "quant/codec.h"

namespace {

using namespace maglio;

// Seconds: of this thread's work where it is the only one, else by the clock.
double seconds_now(size_t n_threads) {
  if (n_threads == 1) {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Options {
  std::vector<std::string> formats = {"F32",  "F16",  "BF16", "Q8_0", "Q4_0", "Q4_1",
                                      "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"};
  std::vector<size_t> rows = {1, 2, 4, 8, 16, 64, 512};
  size_t threads = default_thread_count();
  double seconds = 0.4;
  size_t k = 1024;
  size_t outputs = 3072;
  size_t megabytes =
      160;  // of weights: beyond any cache, unless a small number asks for cached rates
};

constexpr size_t kBytesToRead = size_t{160} << 20;

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts(1);
  for (char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

Options parse(std::span<char*> args) {
  Options o;
  for (size_t i = 1; i + 1 < args.size(); i += 2) {
    const std::string_view flag = args[i];
    const std::string value = args[i + 1];
    if (flag == "--formats") o.formats = split(value);
    if (flag == "--rows") {
      o.rows.clear();
      for (const auto& part : split(value)) o.rows.push_back(std::stoul(part));
    }
    if (flag == "--threads") o.threads = std::stoul(value);
    if (flag == "--seconds") o.seconds = std::stod(value);
    if (flag == "--k") o.k = std::stoul(value);
    if (flag == "--megabytes") o.megabytes = std::stoul(value);
    if (flag == "--outputs") o.outputs = std::stoul(value);
  }
  return o;
}

DType dtype_named(std::string_view name) {
  for (uint32_t id = 0; id < 64; ++id) {
    const auto dtype = dtype_from_id(id);
    if (dtype && to_string(*dtype) == name && is_weight_format(*dtype)) return *dtype;
  }
  throw std::runtime_error("no weight format named " + std::string(name));
}

class Bench {
 public:
  Bench(const Options& o, DType dtype, ThreadPool& pool)
      : o_(o),
        pool_(pool),
        kernels_(active_kernels()),
        format_(format_kernels(kernels_, dtype)),
        n_panels_(o.outputs / kPanelRows),
        matrix_bytes_(n_panels_ * format_.panel_bytes(o.k)),
        n_copies_((o.megabytes << 20) / matrix_bytes_ + 1),
        weights_(n_copies_ * matrix_bytes_) {
    std::mt19937 rng(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(o.k);
    std::vector<std::byte> rows(kPanelRows * row_bytes(dtype, o.k));
    for (size_t i = 0; i < kPanelRows; ++i) {
      for (float& v : values) v = normal(rng);
      quantize_row(dtype, values.data(), o.k, rows.data() + i * row_bytes(dtype, o.k));
    }
    format_.pack_panel(rows.data(), row_bytes(dtype, o.k), kPanelRows, o.k, weights_.data());
    const size_t panel = format_.panel_bytes(o.k);
    for (size_t at = panel; at + panel <= weights_.size(); at += panel) {
      std::memcpy(weights_.data() + at, weights_.data(), panel);
    }
  }

  // Seconds of one product of n_rows rows, each measured over several copies of the matrix.
  std::vector<double> run(size_t n_rows) {
    std::mt19937 rng(2);
    std::normal_distribution<float> normal;
    std::vector<float> x(n_rows * o_.k);
    for (float& v : x) v = normal(rng);
    std::vector<float> out(n_rows * o_.outputs);
    const ActivationKernels& activation = kernels_.activation(format_.activation);
    AlignedBytes quantized(activation.bytes(n_rows, o_.k));
    const size_t scratch_bytes = format_.matmul_scratch_bytes(n_rows, o_.k) + 64;
    AlignedBytes scratch(scratch_bytes / 64 * 64 * pool_.size());
    const size_t per_round = n_rows <= 16 ? n_copies_ : std::max<size_t>(1, 32 / n_rows);
    const size_t grain = std::max<size_t>(1, n_panels_ / (pool_.size() * 8));
    std::vector<double> seconds;
    size_t copy = 0;
    const double start = seconds_now(pool_.size());
    while (seconds.size() < 3 || seconds_now(pool_.size()) - start < o_.seconds) {
      const double begin = seconds_now(pool_.size());
      for (size_t i = 0; i < per_round; ++i) {
        pool_.parallel_for(n_rows, 8, [&](size_t from, size_t to, size_t) {
          activation.quantize(x.data(), o_.k, n_rows, o_.k, from, to, quantized.data());
        });
        const std::byte* panels = weights_.data() + copy * matrix_bytes_;
        copy = (copy + 1) % n_copies_;
        pool_.parallel_for(n_panels_, grain, [&](size_t from, size_t to, size_t thread_i) {
          const MatmulTask task{.panels = panels,
                                .activations = quantized.data(),
                                .k = o_.k,
                                .n_rows = n_rows,
                                .n_outputs = o_.outputs,
                                .out = out.data(),
                                .out_stride = o_.outputs,
                                .scratch = scratch.data() + thread_i * (scratch_bytes / 64 * 64)};
          format_.matmul(task, from, to);
        });
      }
      seconds.push_back((seconds_now(pool_.size()) - begin) / static_cast<double>(per_round));
    }
    std::ranges::sort(seconds);
    return seconds;
  }

  size_t matrix_bytes() const { return matrix_bytes_; }

 private:
  const Options& o_;
  ThreadPool& pool_;
  const Kernels& kernels_;
  const FormatKernels& format_;
  size_t n_panels_;
  size_t matrix_bytes_;
  size_t n_copies_;
  AlignedBytes weights_;
};

// GB/s of reading memory that no cache holds, on all threads.
double read_speed(ThreadPool& pool) {
  AlignedBytes bytes(kBytesToRead);
  std::memset(bytes.data(), 1, bytes.size());
  std::vector<uint64_t> sums(pool.size() * 8);
  double best = 0;
  for (int round = 0; round < 8; ++round) {
    const double begin = seconds_now(pool.size());
    pool.parallel_for(kBytesToRead / 65536, 1, [&](size_t from, size_t, size_t thread_i) {
      const auto* p = reinterpret_cast<const uint64_t*>(bytes.data() + from * 65536);
      uint64_t sum[8] = {};
      for (size_t i = 0; i < 65536 / 8; i += 8) {
        for (size_t j = 0; j < 8; ++j) sum[j] += p[i + j];
      }
      for (uint64_t s : sum) sums[thread_i * 8] += s;
    });
    const double seconds = seconds_now(pool.size()) - begin;
    best = std::max(best, static_cast<double>(kBytesToRead) / seconds / 1e9);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(std::span(argv, static_cast<size_t>(argc)));
  ThreadPool pool(o.threads);
  fmt::print("{} threads, {}, [{}, {}], read {:.1f} GB/s\n", pool.size(), active_kernels().name,
             o.outputs, o.k, read_speed(pool));
  for (const std::string& name : o.formats) {
    Bench bench(o, dtype_named(name), pool);
    for (size_t n_rows : o.rows) {
      const auto seconds = bench.run(n_rows);
      const double best = seconds.front();
      const double median = seconds[seconds.size() / 2];
      const double macs = static_cast<double>(n_rows * o.outputs * o.k);
      const auto bytes = static_cast<double>(bench.matrix_bytes());
      fmt::print("{:5} rows {:4}  {:6.1f} ({:6.1f}) GMAC/s  {:5.1f} ({:5.1f}) GB/s\n", name, n_rows,
                 macs / best / 1e9, macs / median / 1e9, bytes / best / 1e9, bytes / median / 1e9);
    }
  }
  return 0;
}
