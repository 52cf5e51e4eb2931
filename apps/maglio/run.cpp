#include <CLI/CLI.hpp>

#include "maglio/commands.h"
#include "maglio/error.h"

namespace maglio::app {

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Chat with a model, or complete a prompt");
  command->callback(
      [] { throw Error(ErrorKind::unsupported, "NotBuiltYet", "run: not built yet"); });
}

}  // namespace maglio::app
