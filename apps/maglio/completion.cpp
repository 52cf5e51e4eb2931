#include "maglio/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

namespace maglio::app {
namespace {

struct Flag {
  std::vector<std::string> names;    // with their dashes
  std::vector<std::string> choices;  // of its value, where they are few
  bool takes_value = false;
  std::string help;
};

// "TEXT:{none,nfc}", as the parser writes what it accepts.
std::vector<std::string> choices_in(const std::string& type) {
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<Flag> flags_of(const CLI::App& command) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : command.get_options()) {
    Flag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    if (flag.names.empty()) continue;
    flag.takes_value = option->get_items_expected_min() > 0;
    flag.choices = choices_in(option->get_type_name());
    flag.help = option->get_description();
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

std::string all_names(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string values, words;
  for (const CLI::App* command : commands_of(app)) {
    commands.push_back(command->get_name());
    const std::vector<Flag> flags = flags_of(*command);
    words += fmt::format("    {}) words='{}' ;;\n", command->get_name(), all_names(flags));
    for (const Flag& flag : flags) {
      if (!flag.takes_value) continue;
      std::vector<std::string> cases;
      for (const std::string& name : flag.names) {
        cases.push_back(fmt::format("'{} {}'", command->get_name(), name));
      }
      // Without choices nothing is offered, and the shell falls back to files.
      values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            fmt::join(cases, "|"), fmt::join(flag.choices, " "));
    }
  }
  return fmt::format(R"(_maglio() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command=${{COMP_WORDS[1]}} words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$word"))
    return
  fi
  case "$command $before" in
{}  esac
  case $command in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
  esac
}}
complete -o default -F _maglio maglio
)",
                     fmt::join(commands, " "), all_names(flags_of(app)), values, words);
}

// Between single quotes.
std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find_first_of("'\\", at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return "'" + text + "'";
}

std::string fish_line(const std::string& condition, const Flag& flag) {
  std::string line = fmt::format("complete -c maglio -n {}", quoted(condition));
  for (const std::string& name : flag.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.choices.empty()) {
    line += fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(flag.choices, " "))));
  } else if (flag.takes_value) {
    line += " -r";
  }
  return line + fmt::format(" -d {}\n", quoted(flag.help));
}

std::string fish_script(const CLI::App& app) {
  std::string script;
  for (const Flag& flag : flags_of(app)) script += fish_line("__fish_use_subcommand", flag);
  for (const CLI::App* command : commands_of(app)) {
    script += fmt::format("complete -c maglio -f -n '__fish_use_subcommand' -a {} -d {}\n",
                          command->get_name(), quoted(command->get_description()));
    for (const Flag& flag : flags_of(*command)) {
      script += fish_line("__fish_seen_subcommand_from " + command->get_name(), flag);
    }
  }
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& app, Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_script(app);
    case Shell::zsh:
      return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
    case Shell::fish:
      return fish_script(app);
  }
  return {};
}

}  // namespace maglio::app
