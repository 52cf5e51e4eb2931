#include "maglio/bench_plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/cpu_count.h"
#include "maglio/bench_sweep.h"
#include "maglio/number_checks.h"

namespace maglio::app {
namespace {

constexpr size_t kMaxCounts = 10000;  // of one list: more is a slip of the keyboard

[[noreturn]] void refuse(std::string_view flag, std::string_view text) {
  throw CLI::ValidationError(fmt::format(
      "{}: expected numbers as 512, 1,2,4, 1-8, 16-128+16 or 1-8*2, found '{}'", flag, text));
}

// Takes a number off the front of the text.
size_t take_count(std::string_view flag, std::string_view whole, std::string_view& rest) {
  size_t n = 0;
  const auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
  if (error != std::errc()) refuse(flag, whole);
  rest.remove_prefix(static_cast<size_t>(next - rest.data()));
  return n;
}

bool take(char c, std::string_view& rest) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

std::vector<size_t> counts_of(std::string_view flag,
                              const std::vector<std::string>& texts,
                              std::vector<size_t> fallback) {
  if (texts.empty()) return fallback;
  std::vector<size_t> all;
  for (const std::string& text : texts) {
    const auto counts = parse_counts(flag, text);
    all.insert(all.end(), counts.begin(), counts.end());
  }
  return all;
}

std::vector<std::string> split_list(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (std::string_view text : texts) {
    while (true) {
      const size_t comma = text.find(',');
      all.emplace_back(text.substr(0, comma));
      if (comma == text.npos) break;
      text.remove_prefix(comma + 1);
    }
  }
  return all;
}

// maglio keeps keys and values in one type.
std::vector<std::string> cache_types(const BenchFlags& flags) {
  const auto k = split_list(flags.cache_k), v = split_list(flags.cache_v);
  const auto& types = k.empty() ? v : k;
  if (!k.empty() && !v.empty() && k != v) {
    throw CLI::ValidationError("-ctk and -ctv: expected the same types for keys and values");
  }
  for (const std::string& type : types) {
    if (type != "f16" && type != "q8_0") {
      throw CLI::ValidationError(fmt::format("-ctk: expected f16 or q8_0, found '{}'", type));
    }
  }
  return types.empty() ? std::vector<std::string>{"f16"} : types;
}

// What is measured, whatever the model, threads and depth.
struct Task {
  size_t n_prompt = 0;
  size_t n_gen = 0;
  size_t n_streams = 1;
};

// Streams of each generation: one alone first, the others are compared with it.
std::vector<size_t> streams_of(const BenchFlags& flags) {
  std::vector<size_t> streams = {1};
  for (size_t n : counts_of("-npl", flags.n_streams, {1})) {
    if (n == 0) throw CLI::ValidationError("-npl: expected at least 1");
    if (n > 1) streams.push_back(n);
  }
  return streams;
}

std::vector<Task> tasks_of(const BenchFlags& flags) {
  std::vector<Task> tasks;
  for (size_t n : counts_of("-p", flags.n_prompt, {512})) tasks.push_back({.n_prompt = n});
  for (size_t n : counts_of("-n", flags.n_gen, {128})) {
    for (size_t streams : streams_of(flags)) tasks.push_back({.n_gen = n, .n_streams = streams});
  }
  for (const std::string& pair : flags.pg) {
    const auto both = parse_counts("-pg", pair);
    if (both.size() != 2) refuse("-pg", pair);
    tasks.push_back({.n_prompt = both[0], .n_gen = both[1]});
  }
  std::erase_if(tasks, [](const Task& task) { return task.n_prompt + task.n_gen == 0; });
  return tasks;
}

}  // namespace

std::string BenchTest::name() const {
  std::string name;
  if (n_prompt > 0) name += fmt::format("pp{}", n_prompt);
  if (n_prompt > 0 && n_gen > 0) name += '+';
  if (n_gen > 0) name += fmt::format("tg{}", n_gen);
  if (n_streams > 1) name += fmt::format(" x{}", n_streams);
  if (n_depth > 0) name += fmt::format(" @ d{}", n_depth);
  return name;
}

std::vector<size_t> parse_counts(std::string_view flag, std::string_view text) {
  std::vector<size_t> counts;
  std::string_view rest = text;
  while (true) {
    const size_t first = take_count(flag, text, rest);
    const size_t last = take('-', rest) ? take_count(flag, text, rest) : first;
    const bool times = take('*', rest);
    const size_t step = times || take('+', rest) ? take_count(flag, text, rest) : 1;
    if (step < (times ? 2u : 1u) || (times && first == 0) || last < first) refuse(flag, text);
    for (size_t n = first; n <= last; n = times ? n * step : n + step) {
      counts.push_back(n);
      if (counts.size() > kMaxCounts) refuse(flag, text);
    }
    if (rest.empty()) return counts;
    if (!take(',', rest)) refuse(flag, text);
  }
}

void BenchFlags::add_to(CLI::App& command) {
  auto list = [&](const char* names, std::vector<std::string>& target, const char* help) {
    command.add_option(names, target, help)->take_all()->allow_extra_args(false);
  };
  command.add_option("MODEL", models, "Model files (GGUF)");
  list("-m,--model", model_options, "The same as an option");
  list("-p,--n-prompt", n_prompt, "Prompt tokens; 0 for none [512]");
  list("-n,--n-gen", n_gen, "Generated tokens; 0 for none [128]");
  list("--pg", pg, "-pg PP,TG: prompt and generation in one measurement");
  list("-d,--n-depth", n_depth, "Tokens in the cache before the measurement [0]");
  list("--parallel,--npl", n_streams, "-npl N: streams that generate together, a token each [1]");
  list("-b,--batch-size", n_batch, "Reported only: maglio has no logical batch [2048]");
  list("--ubatch-size,--ub", n_ubatch, "-ub N: prompt tokens of one forward pass [512]");
  list("-t,--threads", n_threads, "Threads [one per physical core allowed]");
  list("--cache-type-k,--ctk", cache_k, "-ctk TYPE: f16 or q8_0 [f16]");
  list("--cache-type-v,--ctv", cache_v, "-ctv TYPE: the same as -ctk");
  command.add_option("-r,--repetitions", n_repetitions, "Runs of each measurement")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command.add_flag("--no-warmup", no_warmup, "Measure at once");
  storage.add_to(command, "Weights",
                 "Leave weights in the file where packed ones and the caches of all tests do not "
                 "fit in memory, and say so on stderr");
  command.add_flag("--sweep", sweep,
                   "Measure 40 prompt lengths from 1 to 1024, and depths from 0 to 16k (-d)");
  command.add_option("--plot", plot, "FILE.svg: draw what --sweep has measured or --from has read");
  command.add_option("--versus", versus,
                     "FILE.json: another engine's results of the same tests, to compare with");
  command.add_option("--from", from, "FILE.json: results to compare or draw, instead of measuring");
  command.add_flag("--plan", plan_only, "Print the names of the tests and measure nothing");
  const auto formats = CLI::IsMember({"md", "csv", "json", "jsonl"});
  command.add_option("-o,--output", output, "md, csv, json or jsonl")
      ->check(formats)
      ->capture_default_str();
  command.add_option("--output-err,--oe", output_err, "-oe FORMAT: the same to stderr")
      ->check(CLI::IsMember({"none", "md", "csv", "json", "jsonl"}))
      ->capture_default_str();
}

std::vector<BenchTest> BenchFlags::plan() const {
  storage.check();
  const bool has_model = !models.empty() || !model_options.empty();
  if (!plot.empty() && !sweep && from.empty()) {
    throw CLI::ValidationError("--plot: expected --sweep or --from, which it draws");
  }
  if (!versus.empty() && !sweep && from.empty()) {
    throw CLI::ValidationError("--versus: expected --sweep or --from to compare with");
  }
  if (!from.empty()) {
    if (sweep || has_model) {
      throw CLI::ValidationError(
          "--from: expected no model and no --sweep, for nothing is measured");
    }
    return {};
  }
  if (!has_model) throw CLI::ValidationError("expected a model file");
  return sweep ? sweep_plan() : cross_product();
}

std::vector<BenchTest> BenchFlags::sweep_plan() const {
  if (!n_prompt.empty() || !pg.empty() || !n_streams.empty()) {
    throw CLI::ValidationError("--sweep: expected none of -p, -pg and -npl, for it has its own");
  }
  BenchFlags one = *this;
  one.n_prompt = {"1"};
  one.n_gen = {"0"};
  one.n_depth = {"0"};
  const std::vector<BenchTest> base = one.cross_product();
  const std::vector<size_t> generated = counts_of("-n", n_gen, {kSweepGen});
  if (base.size() != 1 || generated.size() != 1) {
    throw CLI::ValidationError(
        "--sweep: expected one model and one value of -n, -t, -b, -ub, -ctk");
  }
  return sweep_tests(base[0], counts_of("-d", n_depth, sweep_depths()), generated[0]);
}

std::vector<BenchTest> BenchFlags::cross_product() const {
  std::vector<std::string> paths = models;
  paths.insert(paths.end(), model_options.begin(), model_options.end());

  const std::vector<Task> tasks = tasks_of(*this);
  std::vector<BenchTest> tests;
  for (const std::string& path : paths) {
    for (size_t threads : counts_of("-t", n_threads, {default_thread_count()})) {
      for (const std::string& type : cache_types(*this)) {
        for (size_t batch : counts_of("-b", n_batch, {2048})) {
          for (size_t ubatch : counts_of("-ub", n_ubatch, {512})) {
            for (size_t depth : counts_of("-d", n_depth, {0})) {
              for (const Task& task : tasks) {
                tests.push_back({path, threads, type, batch, ubatch, depth, task.n_prompt,
                                 task.n_gen, task.n_streams});
              }
            }
          }
        }
      }
    }
  }
  for (const BenchTest& test : tests) {
    if (test.n_ubatch == 0 || test.n_threads == 0) {
      throw CLI::ValidationError("-ub and -t: expected at least 1");
    }
  }
  return tests;
}

}  // namespace maglio::app
