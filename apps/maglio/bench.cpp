// maglio bench: prompt and generation speed, as llama-bench measures them, beside what the machine
// can do at most (docs/bench.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

#include "maglio/bench_plan.h"
#include "maglio/bench_plot.h"
#include "maglio/bench_report.h"
#include "maglio/bench_run.h"
#include "maglio/bench_sweep.h"
#include "maglio/commands.h"
#include "maglio/error.h"
#include "maglio/read_text.h"

namespace maglio::app {
namespace {

void emit(std::FILE* stream, const std::string& text) {
  fmt::print(stream, "{}", text);
  std::fflush(stream);
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    throw Error(ErrorKind::io, "CannotWrite",
                fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
}

// Runs the tests and prints each as it ends.
std::vector<BenchResult> measure(const std::vector<BenchTest>& plan, const BenchFlags& flags) {
  BenchRunner runner(plan, {.n_repetitions = flags.n_repetitions,
                            .warm_up = !flags.no_warmup,
                            .storage = flags.storage});
  const bool with_streams =
      std::ranges::any_of(plan, [](const BenchTest& test) { return test.n_streams > 1; });
  const auto printer = bench_printer(flags.output, with_streams);
  const auto second =
      flags.output_err == "none" ? nullptr : bench_printer(flags.output_err, with_streams);
  const auto print = [&](auto&& text_of) {
    emit(stdout, text_of(*printer));
    if (second) emit(stderr, text_of(*second));
  };
  std::vector<BenchResult> results;
  print([&](BenchPrinter& p) { return p.header(runner.limits(), runner.isa()); });
  for (const BenchTest& test : plan) {
    results.push_back(runner.run(test));
    print([&](BenchPrinter& p) { return p.row(results.back()); });
  }
  print([](BenchPrinter& p) { return p.footer(); });
  return results;
}

void run_bench(const BenchFlags& flags) {
  const std::vector<BenchTest> plan = flags.plan();
  if (flags.plan_only) {
    for (const BenchTest& test : plan) emit(stdout, test.name() + "\n");
    return;
  }
  // A file that cannot be used is found before minutes of measuring.
  std::optional<SweepRun> theirs;
  if (!flags.versus.empty()) theirs = parse_run(read_text(flags.versus), flags.versus);
  const SweepRun ours = flags.from.empty() ? run_of(measure(plan, flags))
                                           : parse_run(read_text(flags.from), flags.from);
  if (theirs && flags.output == "md") emit(stdout, "\n" + comparison_table(ours, *theirs));
  if (!flags.plot.empty()) write_text(flags.plot, sweep_svg(ours, theirs));
}

}  // namespace

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure prompt and generation speed");
  command->footer(
      "Flags that take numbers take lists and ranges: 1,2,4 or 1-8 or 16-128+16 or 1-8*2. "
      "llama-bench's spelling works: -pg 512,128 -ub 256 -ctk q8_0. GB/s is what generation reads "
      "of weights and cache, GMAC/s counts multiply-adds; both stand beside their share of what "
      "this machine can do at most, measured at the start (docs/bench.md).");
  const auto flags = std::make_shared<BenchFlags>();
  flags->add_to(*command);
  command->callback([flags] { run_bench(*flags); });
}

}  // namespace maglio::app
