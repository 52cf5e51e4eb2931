#include "maglio/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <numeric>

#include "maglio/version.h"

namespace maglio::app {
namespace {

namespace json = boost::json;

template <class T>
double mean(const std::vector<T>& values) {
  double sum = 0;
  for (T v : values) sum += static_cast<double>(v);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

template <class T>
double stddev(const std::vector<T>& values) {
  if (values.size() < 2) return 0;
  const double m = mean(values);
  double sum = 0;
  for (T v : values) sum += (static_cast<double>(v) - m) * (static_cast<double>(v) - m);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// In llama-bench's order; its keys about GPUs and operating-system knobs have no counterpart.
json::object to_json(const BenchResult& r) {
  const auto ts = r.tokens_per_second();
  json::object o;
  o["build_commit"] = build_commit();
  o["build_number"] = 0;
  o["cpu_info"] = r.cpu;
  o["gpu_info"] = "";
  o["backends"] = "CPU";
  o["model_filename"] = r.test.model;
  o["model_type"] = r.model_type;
  o["model_size"] = r.model_size;
  o["model_n_params"] = r.n_parameters;
  o["n_batch"] = r.test.n_batch;
  o["n_ubatch"] = r.test.n_ubatch;
  o["n_threads"] = r.test.n_threads;
  o["type_k"] = r.test.cache_type;
  o["type_v"] = r.test.cache_type;
  o["n_prompt"] = r.test.n_prompt;
  o["n_gen"] = r.test.n_gen;
  o["n_depth"] = r.test.n_depth;
  o["test_time"] = r.test_time;
  o["avg_ns"] = static_cast<uint64_t>(r.mean_ns());
  o["stddev_ns"] = static_cast<uint64_t>(r.stddev_ns());
  o["avg_ts"] = r.mean_ts();
  o["stddev_ts"] = r.stddev_ts();
  // What llama-bench does not have.
  o["isa"] = r.isa;
  o["median_ts"] = median(ts);
  o["max_ts"] = *std::max_element(ts.begin(), ts.end());
  o["gb_per_second"] = r.gb_s();
  o["limit_gb_per_second"] = r.limit_gb_s;
  return o;
}

json::object to_json_with_samples(const BenchResult& r) {
  json::object o = to_json(r);
  o["samples_ns"] = json::array(r.samples_ns.begin(), r.samples_ns.end());
  const auto ts = r.tokens_per_second();
  o["samples_ts"] = json::array(ts.begin(), ts.end());
  return o;
}

class JsonPrinter : public BenchPrinter {
 public:
  std::string header() const override { return "[\n"; }
  std::string row(const BenchResult& r) override {
    std::string text = first_ ? "" : ",\n";
    first_ = false;
    text += "  {\n";
    bool first_key = true;
    for (const auto& [key, value] : to_json_with_samples(r)) {
      text += fmt::format("{}    {}: {}", first_key ? "" : ",\n", json::serialize(json::value(key)),
                          json::serialize(value));
      first_key = false;
    }
    return text + "\n  }";
  }
  std::string footer() const override { return "\n]\n"; }

 private:
  bool first_ = true;
};

class JsonLinesPrinter : public BenchPrinter {
 public:
  std::string row(const BenchResult& r) override {
    return json::serialize(to_json_with_samples(r)) + "\n";
  }
};

class CsvPrinter : public BenchPrinter {
 public:
  std::string row(const BenchResult& r) override {
    const json::object object = to_json(r);
    std::string head, line;
    for (const auto& [key, value] : object) {
      const std::string cell =
          value.is_string() ? std::string(value.as_string()) : json::serialize(value);
      head += fmt::format("{}{}", head.empty() ? "" : ",", std::string_view(key));
      line += fmt::format("{}{}", line.empty() ? "" : ",", quoted(cell));
    }
    const std::string text = first_ ? head + "\n" + line + "\n" : line + "\n";
    first_ = false;
    return text;
  }

 private:
  static std::string quoted(const std::string& cell) {
    std::string text = "\"";
    for (char c : cell) {
      if (c == '"') text += '"';
      text += c;
    }
    return text + '"';
  }
  bool first_ = true;
};

class MarkdownPrinter : public BenchPrinter {
 public:
  std::string header() const override {
    return fmt::format(
        "| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>6} | {:>15} | {:>20} | {:>6} | {:>8} |\n"
        "| {:-<30} | {:->9}: | {:->9}: | {:-<10} | {:->6}: | {:->5}: | {:->14}: | {:->19}: | "
        "{:->5}: | {:->7}: |\n",
        "model", "size", "params", "backend", "threads", "type_k", "test", "t/s", "GB/s",
        "of limit", "", "", "", "", "", "", "", "", "", "");
  }
  std::string row(const BenchResult& r) override {
    const double gb_s = r.gb_s();
    return fmt::format(
        "| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>6} | {:>15} | {:>20} | {:>6} | {:>8} |\n",
        r.model_type, size_text(r.model_size), count_text(r.n_parameters), "CPU " + r.isa,
        r.test.n_threads, r.test.cache_type, r.test.name(),
        fmt::format("{:.2f} ± {:.2f}", r.mean_ts(), r.stddev_ts()),
        gb_s > 0 ? fmt::format("{:.1f}", gb_s) : "",
        gb_s > 0 && r.limit_gb_s > 0 ? fmt::format("{:.0f} %", 100 * gb_s / r.limit_gb_s) : "");
  }
  std::string footer() const override { return fmt::format("\nbuild: {}\n", build_commit()); }

 private:
  static std::string size_text(uint64_t bytes) {
    const auto n = static_cast<double>(bytes);
    return bytes < (uint64_t{1} << 30) ? fmt::format("{:.2f} MiB", n / (1 << 20))
                                       : fmt::format("{:.2f} GiB", n / (1 << 30));
  }
  static std::string count_text(uint64_t count) {
    const auto n = static_cast<double>(count);
    return count < 1000000000 ? fmt::format("{:.2f} M", n / 1e6) : fmt::format("{:.2f} B", n / 1e9);
  }
};

}  // namespace

std::vector<double> BenchResult::tokens_per_second() const {
  std::vector<double> ts;
  for (uint64_t ns : samples_ns) {
    ts.push_back(1e9 * static_cast<double>(test.n_prompt + test.n_gen) / static_cast<double>(ns));
  }
  return ts;
}

double BenchResult::mean_ns() const {
  return mean(samples_ns);
}
double BenchResult::mean_ts() const {
  return mean(tokens_per_second());
}
double BenchResult::stddev_ns() const {
  return stddev(samples_ns);
}
double BenchResult::stddev_ts() const {
  return stddev(tokens_per_second());
}

double BenchResult::gb_s() const {
  if (test.n_prompt > 0 || test.n_gen == 0) return 0;
  return static_cast<double>(model_size) * mean_ts() / 1e9;
}

std::unique_ptr<BenchPrinter> bench_printer(std::string_view format) {
  if (format == "csv") return std::make_unique<CsvPrinter>();
  if (format == "json") return std::make_unique<JsonPrinter>();
  if (format == "jsonl") return std::make_unique<JsonLinesPrinter>();
  return std::make_unique<MarkdownPrinter>();
}

}  // namespace maglio::app
