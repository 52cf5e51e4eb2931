#include <CLI/CLI.hpp>

#include "maglio/commands.h"
#include "maglio/error.h"

namespace maglio::app {

void add_bench_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "Measure prompt and generation speed");
  command->callback(
      [] { throw Error(ErrorKind::unsupported, "NotBuiltYet", "bench: not built yet"); });
}

}  // namespace maglio::app
