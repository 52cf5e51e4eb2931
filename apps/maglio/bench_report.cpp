#include "maglio/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
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
  o["n_streams"] = r.test.n_streams;
  o["median_ts"] = median(ts);
  o["max_ts"] = *std::max_element(ts.begin(), ts.end());
  o["gb_per_second"] = r.gb_s();
  o["read_share"] = r.read_share();
  o["gmac_per_second"] = r.gmac_s();
  o["peak_share"] = r.peak_share();
  o["bound_ts"] = r.bound_ts();
  o["one_stream_ts"] = r.one_stream_ts.value_or(0);
  o["work_bytes"] = r.work.bytes;
  for (size_t c = 0; c < kActivationClasses; ++c) {
    o[fmt::format("work_macs_{}", class_name(static_cast<ActivationClass>(c)))] = r.work.macs[c];
  }
  o["limit_gb_per_second"] = r.limits.read_gb_s();
  o["limit_gb_per_second_one_thread"] = r.limits.read.empty() ? 0 : r.limits.read[0].gb_s;
  for (size_t c = 0; c < kActivationClasses; ++c) {
    const std::string key =
        fmt::format("limit_gmac_per_second_{}", class_name(static_cast<ActivationClass>(c)));
    o[key] = r.limits.all_threads[c];
    o[key + "_one_thread"] = r.limits.one_thread[c];
  }
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
  std::string header(const std::vector<MachineLimits>&, std::string_view) override { return "[\n"; }
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
  explicit MarkdownPrinter(bool with_streams) {
    columns_ = {{"model", -30, model},     {"size", 10, size},      {"params", 10, params},
                {"backend", -14, backend}, {"threads", 7, threads}, {"type_k", 6, type_k},
                {"test", 15, test},        {"t/s", 20, speed}};
    if (with_streams) {
      columns_.push_back({"of one", 6, ratio_to_one});
      columns_.push_back({"bound t/s", 9, bound});
    }
    columns_.push_back({"GB/s", 6, gb_s});
    columns_.push_back({"of read", 7, read_share});
    columns_.push_back({"GMAC/s", 6, gmac_s});
    columns_.push_back({"of peak", 7, peak_share});
  }

  std::string header(const std::vector<MachineLimits>& limits, std::string_view isa) override {
    std::string text;
    for (const MachineLimits& l : limits) text += describe(l, isa);
    if (!text.empty()) text += '\n';
    text += line([](const Column& c) { return std::string(c.name); });
    text += '|';
    for (const Column& c : columns_) {
      const auto width = static_cast<size_t>(std::abs(c.width));
      text += c.width < 0 ? fmt::format(" {} |", std::string(width, '-'))
                          : fmt::format(" {}: |", std::string(width - 1, '-'));
    }
    return text + '\n';
  }
  std::string row(const BenchResult& r) override {
    return line([&](const Column& c) { return c.text(r); });
  }
  std::string footer() const override { return fmt::format("\nbuild: {}\n", build_commit()); }

 private:
  struct Column {
    const char* name;
    int width;  // negative: set to the left
    std::string (*text)(const BenchResult&);
  };

  template <class TextOf>
  std::string line(TextOf text_of) const {
    std::string line = "|";
    for (const Column& c : columns_) {
      line += c.width < 0 ? fmt::format(" {:<{}} |", text_of(c), -c.width)
                          : fmt::format(" {:>{}} |", text_of(c), c.width);
    }
    return line + '\n';
  }

  static std::string model(const BenchResult& r) { return r.model_type; }
  static std::string size(const BenchResult& r) { return size_text(r.model_size); }
  static std::string params(const BenchResult& r) { return count_text(r.n_parameters); }
  static std::string backend(const BenchResult& r) { return "CPU " + r.isa; }
  static std::string threads(const BenchResult& r) { return fmt::format("{}", r.test.n_threads); }
  static std::string type_k(const BenchResult& r) { return r.test.cache_type; }
  static std::string test(const BenchResult& r) { return r.test.name(); }
  static std::string speed(const BenchResult& r) {
    return fmt::format("{:.2f} ± {:.2f}", r.mean_ts(), r.stddev_ts());
  }
  static std::string ratio_to_one(const BenchResult& r) {
    return r.one_stream_ts ? fmt::format("{:.2f}", r.mean_ts() / *r.one_stream_ts) : "";
  }
  static std::string bound(const BenchResult& r) { return number_text(r.bound_ts()); }
  static std::string gb_s(const BenchResult& r) { return number_text(r.gb_s()); }
  static std::string read_share(const BenchResult& r) { return percent_text(r.read_share()); }
  static std::string gmac_s(const BenchResult& r) { return number_text(r.gmac_s()); }
  static std::string peak_share(const BenchResult& r) { return percent_text(r.peak_share()); }

  static std::string size_text(uint64_t bytes) {
    const auto n = static_cast<double>(bytes);
    return bytes < (uint64_t{1} << 30) ? fmt::format("{:.2f} MiB", n / (1 << 20))
                                       : fmt::format("{:.2f} GiB", n / (1 << 30));
  }
  static std::string count_text(uint64_t count) {
    const auto n = static_cast<double>(count);
    return count < 1000000000 ? fmt::format("{:.2f} M", n / 1e6) : fmt::format("{:.2f} B", n / 1e9);
  }
  // Nothing where nothing was counted.
  static std::string number_text(double x) { return x > 0 ? fmt::format("{:.1f}", x) : ""; }
  static std::string percent_text(double x) {
    return x > 0 ? fmt::format("{:.0f} %", 100 * x) : "";
  }

  std::vector<Column> columns_;
};

}  // namespace

std::vector<double> BenchResult::tokens_per_second() const {
  std::vector<double> ts;
  for (uint64_t ns : samples_ns) {
    ts.push_back(1e9 * static_cast<double>(test.n_tokens()) / static_cast<double>(ns));
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

double BenchResult::mean_seconds() const {
  return static_cast<double>(test.n_tokens()) / mean_ts();
}

double BenchResult::gb_s() const {
  return test.n_prompt > 0 ? 0 : static_cast<double>(work.bytes) / mean_seconds() / 1e9;
}
double BenchResult::read_share() const {
  return test.n_prompt > 0 ? 0 : seconds_of_reading(work.bytes, limits) / mean_seconds();
}

double BenchResult::gmac_s() const {
  return static_cast<double>(work.total_macs()) / mean_seconds() / 1e9;
}
double BenchResult::peak_share() const {
  return seconds_of_macs(work.macs, limits) / mean_seconds();
}

double BenchResult::bound_ts() const {
  const double seconds =
      std::max(seconds_of_macs(work.macs, limits), seconds_of_reading(work.bytes, limits));
  return seconds > 0 ? static_cast<double>(test.n_tokens()) / seconds : 0;
}

std::unique_ptr<BenchPrinter> bench_printer(std::string_view format, bool with_streams) {
  if (format == "csv") return std::make_unique<CsvPrinter>();
  if (format == "json") return std::make_unique<JsonPrinter>();
  if (format == "jsonl") return std::make_unique<JsonLinesPrinter>();
  return std::make_unique<MarkdownPrinter>(with_streams);
}

}  // namespace maglio::app
