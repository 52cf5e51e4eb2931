// The program: one binary, one file a subcommand. Exit codes: 0 fine, 1 a stated failure (one
// line on stderr), 2 bad usage.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "maglio/commands.h"
#include "maglio/completion.h"
#include "maglio/error.h"
#include "maglio/stray_argument.h"
#include "maglio/terminal.h"
#include "maglio/version.h"

namespace maglio::app {
namespace {

constexpr int kFailure = 1;
constexpr int kBadUsage = 2;

// --top-k of any subcommand can be given as MAGLIO_TOP_K.
void add_environment_twins(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    if (names.empty() || names.front() == "help") continue;
    std::string twin = "MAGLIO_";
    for (char c : names.front()) {
      twin += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    option->envname(twin);
  }
}

// Each prints its script, which needs the commands that are added later.
void add_completion_flags(CLI::App& app) {
  constexpr std::pair<const char*, Shell> kShells[] = {
      {"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}};
  for (const auto& [name, shell] : kShells) {
    app.add_flag_callback(
        fmt::format("--completion-{}", name),
        [&app, shell = shell] {
          fmt::print("{}", completion_script(app, shell));
          throw CLI::Success();
        },
        fmt::format("Print a script that completes commands and flags in {}", name));
  }
}

int run_program(int argc, char** argv) {
  CLI::App app("maglio runs language models from GGUF files on the processor.", "maglio");
  app.set_version_flag(
      "--version", [] { return version_text(); }, "Print build and instruction set");
  add_completion_flags(app);
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(0, 1);
  add_run_command(app);
  add_tokenize_command(app);
  add_template_command(app);
  add_info_command(app);
  add_bench_command(app);
  for (CLI::App* command : app.get_subcommands({})) add_environment_twins(*command);

  try {
    auto arguments = with_double_dashes(argc > 1 ? argv[1] : "", {argv + 1, argv + argc});
    std::reverse(arguments.begin(), arguments.end());  // as the parser wants them
    app.parse(std::move(arguments));
  } catch (const CLI::RuntimeError& ended) {
    return ended.get_exit_code();
  } catch (const CLI::ExtrasError&) {
    to_stderr(fmt::format("maglio: {}\n", about_stray_argument(app)));
    return kBadUsage;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadUsage;
  }
  if (app.get_subcommands().empty()) {
    to_stderr(app.help());
    return kBadUsage;
  }
  return 0;
}

}  // namespace
}  // namespace maglio::app

int main(int argc, char** argv) {
  maglio::app::explain_cut_files();
  try {
    const int exit_code = maglio::app::run_program(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
    maglio::app::to_stderr("maglio: stdout cannot be written\n");
  } catch (const maglio::Error& error) {
    maglio::app::report(error);
  } catch (const std::bad_alloc&) {
    maglio::app::to_stderr("maglio: out of memory\n");
  } catch (const std::exception& error) {
    maglio::app::to_stderr(fmt::format("maglio: {}\n", error.what()));
  }
  return maglio::app::kFailure;
}
