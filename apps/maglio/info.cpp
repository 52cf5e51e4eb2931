#include <CLI/CLI.hpp>

#include "maglio/commands.h"
#include "maglio/error.h"

namespace maglio::app {

void add_info_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("info", "Describe a model file");
  command->callback(
      [] { throw Error(ErrorKind::unsupported, "NotBuiltYet", "info: not built yet"); });
}

}  // namespace maglio::app
