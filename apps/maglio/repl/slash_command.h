// The commands of the chat: what is typed after a slash.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "maglio/repl/chat.h"

namespace maglio::app {

enum class After : uint8_t { go_on, leave };

struct SlashCommand {
  std::span<const std::string_view> names;  // the first is the one that is taught
  std::string_view arguments;               // as /help shows them; empty: none are taken
  std::string_view help;
  // Throws: Error, for the loop to say.
  After (*run)(Chat& chat, const std::string& argument);
};

// All of them, in the order of /help.
std::span<const SlashCommand> slash_commands();

// What /help prints: a line for each command, and the keys.
std::string slash_help();

// Obeys a line that begins with a slash. Throws: Error bad_request "UnknownCommand", which names
// the nearest one, "UnexpectedArgument"; what the command throws.
After obey(Chat& chat, const std::string& line);

}  // namespace maglio::app
