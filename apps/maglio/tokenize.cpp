#include <CLI/CLI.hpp>

#include "maglio/commands.h"
#include "maglio/error.h"

namespace maglio::app {

void add_tokenize_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "Print the token ids of a text");
  command->callback(
      [] { throw Error(ErrorKind::unsupported, "NotBuiltYet", "tokenize: not built yet"); });
}

}  // namespace maglio::app
