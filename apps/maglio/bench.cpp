// maglio bench: prompt and generation speed, as llama-bench measures them, beside what the machine
// can do at most (docs/bench.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "maglio/bench_plan.h"
#include "maglio/bench_report.h"
#include "maglio/bench_run.h"
#include "maglio/commands.h"

namespace maglio::app {
namespace {

void emit(std::FILE* stream, const std::string& text) {
  fmt::print(stream, "{}", text);
  std::fflush(stream);
}

void run_bench(const BenchFlags& flags) {
  const std::vector<BenchTest> plan = flags.plan();
  BenchRunner runner(plan, {.n_repetitions = flags.n_repetitions, .warm_up = !flags.no_warmup});
  const bool with_streams =
      std::ranges::any_of(plan, [](const BenchTest& test) { return test.n_streams > 1; });
  const auto printer = bench_printer(flags.output, with_streams);
  const auto second =
      flags.output_err == "none" ? nullptr : bench_printer(flags.output_err, with_streams);
  const auto print = [&](auto&& text_of) {
    emit(stdout, text_of(*printer));
    if (second) emit(stderr, text_of(*second));
  };
  print([&](BenchPrinter& p) { return p.header(runner.limits(), runner.isa()); });
  for (const BenchTest& test : plan) {
    const BenchResult result = runner.run(test);
    print([&](BenchPrinter& p) { return p.row(result); });
  }
  print([](BenchPrinter& p) { return p.footer(); });
}

}  // namespace

std::vector<std::string> with_double_dashes(std::vector<std::string> bench_arguments) {
  for (std::string& argument : bench_arguments) {
    for (const char* flag : {"-pg", "-ub", "-ctk", "-ctv", "-oe", "-npl"}) {
      if (argument == flag) argument.insert(argument.begin(), '-');
    }
  }
  return bench_arguments;
}

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
