#include <fmt/format.h>

#include "maglio/error.h"
#include "maglio/repl/home.h"
#include "maglio/repl/slash_functions.h"
#include "maglio/repl/unquoted.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

// The name behind a command; quotes around it, as a shell would want them, are taken off.
std::string name_behind(const char* command, const char* what, const std::string& argument) {
  std::string name(unquoted(argument));
  if (name.empty()) {
    throw Error(ErrorKind::bad_request, "MissingArgument",
                fmt::format("{}: expected {} behind it, found nothing", command, what));
  }
  return name;
}

std::string turns(size_t n) {
  return fmt::format("{} turn{}", n, n == 1 ? "" : "s");
}

}  // namespace

After read_file(Chat& chat, const std::string& argument) {
  const std::string path = name_behind("/read", "FILE", argument);
  const size_t n_lines = chat.attachments().add_file(path);
  remark(fmt::format("{}: {} lines, go with the next message", path, n_lines));
  return After::go_on;
}

After read_matching(Chat& chat, const std::string& argument) {
  const std::string pattern = name_behind("/glob", "PATTERN", argument);
  for (const std::string& path : chat.attachments().add_matching(pattern)) remark(path);
  remark("go with the next message");
  return After::go_on;
}

After save_conversation(Chat& chat, const std::string& argument) {
  const std::string path = name_behind("/save", "FILE", argument);
  chat.conversation().save(with_home(path));
  remark(fmt::format("{}: {} tokens kept", path, chat.conversation().tokens().size()));
  return After::go_on;
}

After load_conversation(Chat& chat, const std::string& argument) {
  const std::string path = name_behind("/load", "FILE", argument);
  chat.conversation().load(with_home(path));
  remark(fmt::format("{}: {} messages, {} tokens", path, chat.conversation().messages().size(),
                     chat.conversation().tokens().size()));
  const FoundInFile& found = chat.conversation().found_in_file();
  if (found.lost_bytes > 0) {
    remark(
        fmt::format("{}: damaged behind that: {} loaded, at least {} lost ({} bytes); /save "
                    "keeps what is here",
                    path, turns(found.turns), turns(found.lost_turns), found.lost_bytes));
  }
  return After::go_on;
}

}  // namespace maglio::app
