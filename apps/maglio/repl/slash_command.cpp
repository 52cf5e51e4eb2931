#include "maglio/repl/slash_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "maglio/error.h"
#include "maglio/nearest.h"
#include "maglio/repl/slash_functions.h"
#include "maglio/repl/trimmed.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

After leave(Chat&, const std::string&) {
  return After::leave;
}

After help(Chat&, const std::string&) {
  to_stderr(slash_help());
  return After::go_on;
}

// Arrays, for a span of a table in constant memory needs something to point at.
constexpr std::string_view kRegen[] = {"/regen"}, kUndo[] = {"/undo"}, kEdit[] = {"/edit"},
                           kClear[] = {"/clear"}, kSystem[] = {"/system"}, kThink[] = {"/think"},
                           kSet[] = {"/set"}, kShow[] = {"/show"}, kRead[] = {"/read"},
                           kGlob[] = {"/glob"}, kSave[] = {"/save"}, kLoad[] = {"/load"},
                           kStats[] = {"/stats"}, kTokens[] = {"/tokens"},
                           kHelp[] = {"/help", "/?"}, kExit[] = {"/exit", "/quit", "/bye"};

constexpr SlashCommand kCommands[] = {
    {kRegen, "", "answer the last message again", regenerate_answer},
    {kUndo, "", "forget the last message and its answer", undo_turn},
    {kEdit, "", "write the last message anew in $VISUAL or $EDITOR", edit_message},
    {kClear, "", "forget the conversation", clear_conversation},
    {kSystem, "[TEXT]", "the system message; \"\" for none", set_system},
    {kThink, "[on|off]", "whether the model may think before it answers", set_thinking},
    {kSet, "[NAME VALUE]", "change a value: /set temp 0.7; alone: list them", set_setting},
    {kShow, "PAGE", "parameters, system, template, info or history", show},
    {kRead, "FILE", "put a file of text into the next message", read_file},
    {kGlob, "PATTERN", "the same with all files that match: /glob src/*.h", read_matching},
    {kSave, "FILE", "keep the conversation in a file", save_conversation},
    {kLoad, "FILE", "go on with a conversation from a file", load_conversation},
    {kStats, "", "tokens and times of the last answer and of all", show_stats},
    {kTokens, "[TEXT]", "the tokens of a text; how full the context is", show_tokens},
    {kHelp, "", "show this", help},
    {kExit, "", "leave (so does Ctrl-D)", leave},
};

constexpr const char* kKeys =
    "\n"
    "Ctrl-C     stop an answer, clear the line; twice on an empty line: leave\n"
    "Ctrl-G     write the message in $VISUAL or $EDITOR\n"
    "Up Ctrl-R  earlier messages: the one before, a search\n"
    "Ctrl-A E K U W L, Alt-B F, arrows edit the line.\n"
    "A backslash at the end of a line continues the message on the next one; \"\"\"\n"
    "begins and ends a message of several lines; what is pasted is one message.\n"
    "//text says /text.\n";

const SlashCommand* find_command(std::string_view name) {
  for (const SlashCommand& command : kCommands) {
    if (std::ranges::count(command.names, name) > 0) return &command;
  }
  return nullptr;
}

[[noreturn]] void refuse(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SlashCommand& command : kCommands) {
    names.insert(names.end(), command.names.begin(), command.names.end());
  }
  const auto nearest = nearest_name(name, names);
  throw Error(ErrorKind::bad_request, "UnknownCommand",
              fmt::format("{}: no such command{}; /help lists them, //... sends text that begins "
                          "with a slash",
                          name, nearest ? fmt::format(" (did you mean {}?)", *nearest) : ""));
}

}  // namespace

std::span<const SlashCommand> slash_commands() {
  return kCommands;
}

std::string slash_help() {
  std::vector<std::string> usages;
  size_t width = 0;
  for (const SlashCommand& command : kCommands) {
    std::string usage = fmt::format("{}", fmt::join(command.names, " "));
    if (!command.arguments.empty()) usage += fmt::format(" {}", command.arguments);
    width = std::max(width, usage.size());
    usages.push_back(std::move(usage));
  }
  std::string text;
  for (size_t i = 0; i < usages.size(); ++i) {
    text += fmt::format("{:<{}}  {}\n", usages[i], width, kCommands[i].help);
  }
  return text + kKeys;
}

After obey(Chat& chat, const std::string& line) {
  const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
  const std::string_view name = std::string_view(line).substr(0, end);
  const SlashCommand* command = find_command(name);
  if (command == nullptr) refuse(name);
  const std::string argument(trimmed(std::string_view(line).substr(end)));
  if (command->arguments.empty() && !argument.empty()) {
    throw Error(ErrorKind::bad_request, "UnexpectedArgument",
                fmt::format("{} takes nothing behind it, found '{}'", name, argument));
  }
  return command->run(chat, argument);
}

}  // namespace maglio::app
