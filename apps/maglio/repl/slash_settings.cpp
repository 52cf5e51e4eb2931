#include <fmt/format.h>

#include "maglio/error.h"
#include "maglio/repl/settings.h"
#include "maglio/repl/slash_functions.h"
#include "maglio/terminal.h"

namespace maglio::app {

After set_system(Chat& chat, const std::string& text) {
  if (text.empty()) return show(chat, "system");
  chat.conversation().set_system(text == "\"\"" ? "" : text);
  return After::go_on;
}

After set_thinking(Chat& chat, const std::string& on_or_off) {
  if (on_or_off.empty()) {
    const bool on = chat.conversation().options().thinking == Thinking::on;
    remark(on ? "thinking is on" : "thinking is off");
  } else if (on_or_off == "on" || on_or_off == "off") {
    chat.conversation().set_thinking(on_or_off == "on" ? Thinking::on : Thinking::off);
  } else {
    throw Error(ErrorKind::bad_request, "BadSetting",
                fmt::format("/think: expected on or off, found '{}'", on_or_off));
  }
  return After::go_on;
}

After set_setting(Chat& chat, const std::string& name_and_value) {
  if (name_and_value.empty()) return show(chat, "parameters");
  change_setting(chat, name_and_value);
  return After::go_on;
}

}  // namespace maglio::app
