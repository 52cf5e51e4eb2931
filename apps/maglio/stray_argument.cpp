#include "maglio/stray_argument.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/escaped.h"
#include "maglio/nearest.h"

namespace maglio::app {
namespace {

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const auto nearest =
      nearest_name(word, std::vector<std::string_view>(names.begin(), names.end()));
  return nearest ? fmt::format(" (did you mean {}?)", *nearest) : "";
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

}  // namespace

std::string about_stray_argument(const CLI::App& app) {
  const auto taken = app.get_subcommands();
  const CLI::App& command = taken.empty() ? app : *taken.front();
  const std::string name = taken.empty() ? "maglio" : "maglio " + command.get_name();
  const auto stray = app.remaining(true);
  const auto flag = std::ranges::find_if(stray, [](const auto& s) { return s.starts_with('-'); });
  if (flag != stray.end()) {
    const std::string word = flag->substr(0, flag->find('='));
    return fmt::format("{}: no such flag of {}{}; {} --help lists them", escaped(word), name,
                       did_you_mean(word, flags_of(command)), name);
  }
  const std::string& word = stray.front();
  if (!taken.empty()) {
    return fmt::format("{}: not expected behind {}; {} --help says what is", escaped(word), name,
                       name);
  }
  if (word.ends_with(".gguf")) {
    return fmt::format("{}: no such command; to chat with it: maglio run {}", escaped(word),
                       escaped(word));
  }
  const auto commands = commands_of(app);
  return fmt::format("{}: no such command{}; expected {}", escaped(word),
                     did_you_mean(word, commands), fmt::join(commands, ", "));
}

}  // namespace maglio::app
