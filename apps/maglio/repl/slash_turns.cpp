#include <algorithm>
#include <span>

#include "maglio/error.h"
#include "maglio/repl/slash_functions.h"
#include "maglio/repl/text_editor.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

[[noreturn]] void refuse(const char* code, const char* why) {
  throw Error(ErrorKind::bad_request, code, why);
}

}  // namespace

After regenerate_answer(Chat& chat, const std::string&) {
  if (!chat.conversation().has_answer()) refuse("NoAnswer", "there is no answer yet");
  chat.regenerate();
  return After::go_on;
}

After undo_turn(Chat& chat, const std::string&) {
  if (!chat.conversation().undo_turn()) refuse("NoTurn", "nothing has been said yet");
  remark("the last question and its answer are forgotten");
  return After::go_on;
}

After edit_message(Chat& chat, const std::string&) {
  if (!is_terminal(stdin)) refuse("NoTerminal", "/edit needs a terminal");
  const auto messages = chat.conversation().messages();
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const Message& m) { return m.role == Role::user; });
  if (last == messages.rend()) refuse("NoTurn", "nothing has been said yet");
  const std::string before = last->content;
  const std::string after = edit_in_editor(before);
  if (after.empty() || after == before) {
    remark("nothing has been changed");
  } else {
    chat.say_instead(after);
  }
  return After::go_on;
}

After clear_conversation(Chat& chat, const std::string&) {
  chat.conversation().clear();
  chat.attachments().clear();
  return After::go_on;
}

}  // namespace maglio::app
