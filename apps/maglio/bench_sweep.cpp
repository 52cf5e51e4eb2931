#include "maglio/bench_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "maglio/error.h"
#include "maglio/version.h"

namespace maglio::app {
namespace {

namespace json = boost::json;

constexpr const char* kShape =
    "expected the output of `maglio bench -o json` or `llama-bench -o json`";

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

[[noreturn]] void refuse(const std::string& source, const std::string& found) {
  throw Error(ErrorKind::bad_file, "BadBenchJson",
              fmt::format("{}: {}, found {}", source, kShape, found));
}

size_t count_of(const json::object& row, const char* key, const std::string& source) {
  const json::value* value = row.if_contains(key);
  if (value == nullptr) refuse(source, fmt::format("a row without \"{}\"", key));
  boost::system::error_code error;
  const auto n = value->to_number<size_t>(error);
  if (error) refuse(source, fmt::format("\"{}\": {}", key, json::serialize(*value)));
  return n;
}

std::string text_of(const json::object& row, const char* key) {
  const json::value* value = row.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

double speed_of(const json::object& row, const std::string& source) {
  const json::value* samples = row.if_contains("samples_ts");
  std::vector<double> ts;
  if (samples != nullptr && samples->is_array()) {
    for (const json::value& sample : samples->as_array()) {
      boost::system::error_code error;
      ts.push_back(sample.to_number<double>(error));
      if (error || ts.back() <= 0) refuse(source, "a sample of " + json::serialize(sample));
    }
  }
  if (ts.empty()) refuse(source, "a row without \"samples_ts\"");
  return median(std::move(ts));
}

// Only this program's rows name the instruction set.
std::string engine_of(const json::object& row) {
  const std::string commit = text_of(row, "build_commit"), isa = text_of(row, "isa");
  return isa.empty() ? fmt::format("llama.cpp {}", commit)
                     : fmt::format("maglio {}, {}", commit, isa);
}

std::string test_name(const SpeedPoint& p) {
  return BenchTest{.model = {}, .n_depth = p.n_depth, .n_prompt = p.n_prompt, .n_gen = p.n_gen}
      .name();
}

}  // namespace

const std::vector<SweepGroup>& sweep_groups() {
  static const std::vector<SweepGroup> groups = {
      {"few rows",
       "packed weights are read directly or expanded; batches and speculation live here",
       {1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {"twelve", "a tile of rows on AVX-512, two on AVX2", {11, 12, 13}},
      {"sixteen", "the lanes of a vector; where peers change kernels", {15, 16, 17}},
      {"two tiles", "two tiles on AVX-512, four on AVX2", {23, 24, 25}},
      {"thirty-two", "a block of weights; where peers begin to batch", {31, 32, 33}},
      {"four tiles", "tiles without a rest", {48}},
      {"page", "a page of keys: the next token begins a second one", {63, 64, 65}},
      {"eight tiles", "the last length whose tiles are all full, and one more", {96, 97}},
      {"two pages", "a third page of keys", {127, 128, 129}},
      {"row block", "the most rows that pass the panels together", {191, 192, 193}},
      {"long", "between the edges", {256, 383}},
      {"pass", "the most rows of one forward pass", {511, 512, 513}},
      {"two passes", "a second pass, not full and full", {767, 1024}},
  };
  return groups;
}

std::vector<size_t> sweep_lengths() {
  std::vector<size_t> lengths;
  for (const SweepGroup& group : sweep_groups()) {
    lengths.insert(lengths.end(), group.lengths.begin(), group.lengths.end());
  }
  return lengths;
}

std::string_view sweep_group_of(size_t length) {
  for (const SweepGroup& group : sweep_groups()) {
    if (std::ranges::find(group.lengths, length) != group.lengths.end()) return group.name;
  }
  return {};
}

std::vector<size_t> sweep_depths() {
  return {0, 512, 1024, 2048, 4096, 8192, 16384};
}

std::vector<BenchTest> sweep_tests(const BenchTest& base,
                                   std::span<const size_t> depths,
                                   size_t n_gen) {
  std::vector<BenchTest> tests;
  const auto add = [&](size_t depth, size_t prompt, size_t gen) {
    BenchTest test = base;
    test.n_depth = depth;
    test.n_prompt = prompt;
    test.n_gen = gen;
    tests.push_back(test);
  };
  for (const size_t length : sweep_lengths()) add(0, length, 0);
  for (const size_t depth : depths) {
    if (depth > 0) add(depth, kSweepPrompt, 0);  // at 0 it is one of the lengths
    if (n_gen > 0) add(depth, 0, n_gen);
  }
  return tests;
}

SweepRun run_of(const std::vector<BenchResult>& results) {
  SweepRun run;
  for (const BenchResult& r : results) {
    if (r.test.n_streams > 1) continue;
    run.engine = fmt::format("maglio {}, {}", build_commit(), r.isa);
    run.model = r.model_type;
    run.cpu = r.cpu;
    run.n_threads = r.test.n_threads;
    run.points.push_back(
        {r.test.n_prompt, r.test.n_gen, r.test.n_depth, median(r.tokens_per_second())});
  }
  return run;
}

SweepRun parse_run(std::string_view text, const std::string& source) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) refuse(source, "no JSON: " + error.message());
  if (!value.is_array() || value.as_array().empty()) refuse(source, "no list of results");
  SweepRun run;
  for (const json::value& element : value.as_array()) {
    if (!element.is_object()) refuse(source, json::serialize(element));
    const json::object& row = element.as_object();
    const bool of_streams = row.contains("n_streams") && count_of(row, "n_streams", source) > 1;
    if (of_streams) continue;  // another engine has none to compare with
    run.points.push_back({count_of(row, "n_prompt", source), count_of(row, "n_gen", source),
                          count_of(row, "n_depth", source), speed_of(row, source)});
    run.engine = engine_of(row);
    run.model = text_of(row, "model_type");
    run.cpu = text_of(row, "cpu_info");
    run.n_threads = count_of(row, "n_threads", source);
  }
  return run;
}

std::vector<SpeedRatio> compare_runs(const SweepRun& ours, const SweepRun& theirs) {
  std::vector<SpeedRatio> ratios;
  for (const SpeedPoint& point : ours.points) {
    const auto same = std::ranges::find_if(
        theirs.points, [&](const SpeedPoint& other) { return other.same_test(point); });
    if (same != theirs.points.end()) ratios.push_back({point, *same});
  }
  return ratios;
}

std::string comparison_table(const SweepRun& ours, const SweepRun& theirs) {
  const std::vector<SpeedRatio> ratios = compare_runs(ours, theirs);
  std::string text = fmt::format("{}, {} threads, {}\n\n", ours.cpu, ours.n_threads, ours.model);
  text += fmt::format("| test | edge | {} t/s | {} t/s | ratio |\n|---|---|---:|---:|---:|\n",
                      ours.engine, theirs.engine);
  const SpeedRatio* lowest = nullptr;
  for (const SpeedRatio& r : ratios) {
    const bool of_lengths = r.ours.n_gen == 0 && r.ours.n_depth == 0;
    text += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.2f} |\n", test_name(r.ours),
                        of_lengths ? sweep_group_of(r.ours.n_prompt) : "", r.ours.ts, r.theirs.ts,
                        r.ratio());
    if (lowest == nullptr || r.ratio() < lowest->ratio()) lowest = &r;
  }
  if (lowest == nullptr) return text + "\nThe two runs have no test in common.\n";
  return text + fmt::format("\nThe lowest ratio of {} is {:.2f}, at {}.\n", ratios.size(),
                            lowest->ratio(), test_name(lowest->ours));
}

}  // namespace maglio::app
