// What /set can change while a chat goes on.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "maglio/repl/chat.h"

namespace maglio::app {

struct Setting {
  std::string_view name;
  std::string_view value;  // as /set shows it: what may stand behind the name; empty: nothing
  std::string_view help;
  // The value now; null for a setting that is a wish and not a value.
  std::string (*show)(Chat& chat);
  // Throws: Error bad_request "BadSetting", "BadSamplerConfig"; nothing has changed then.
  void (*set)(Chat& chat, const Setting& setting, const std::string& value);
};

// All of them, in the order in which they are shown.
std::span<const Setting> settings();

// Does what stands behind /set: a name and a value. Other engines' spelling of names is taken too
// (top_k, temperature, parameter top_k). Throws: Error bad_request "UnknownSetting"; as
// Setting::set.
void change_setting(Chat& chat, const std::string& name_and_value);

// "name value", a line for each, with what it means.
std::string settings_text(Chat& chat);

}  // namespace maglio::app
