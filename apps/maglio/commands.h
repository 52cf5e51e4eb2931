// The subcommands of the program, one file each.
//
// A command registers itself: it adds its subcommand, its options and a callback to the parser.
// The callback does the work. Answers go to stdout, everything else to stderr. A stated failure is
// a thrown maglio::Error (exit code 1, its message on one line); bad usage that only shows after
// parsing is a thrown CLI::ValidationError (exit code 2); a command that has already said what is
// wrong ends with throw CLI::RuntimeError(1). Every option gets its environment twin (MAGLIO_ and
// the long name in capitals, dashes as underscores) from main.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace maglio::app {

void add_run_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_template_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_bench_command(CLI::App& app);

// Flags of several letters behind one dash ("bench -pg", "run -sys"), as llama.cpp's programs spell
// them, as this parser takes them.
std::vector<std::string> with_double_dashes(std::string_view command,
                                            std::vector<std::string> arguments);

}  // namespace maglio::app
