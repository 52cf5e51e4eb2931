// What the commands of the chat do. Their meaning stands in the table (slash_command.cpp). The
// second parameter is what follows the name.
#pragma once

#include <string>

#include "maglio/repl/slash_command.h"

namespace maglio::app {

// slash_turns.cpp: what has been said
After regenerate_answer(Chat& chat, const std::string&);
After undo_turn(Chat& chat, const std::string&);
After edit_message(Chat& chat, const std::string&);
After clear_conversation(Chat& chat, const std::string&);

// slash_settings.cpp: how answers come about
After set_system(Chat& chat, const std::string& text);
After set_thinking(Chat& chat, const std::string& on_or_off);
After set_setting(Chat& chat, const std::string& name_and_value);

// slash_files.cpp: what lies on the disk
After read_file(Chat& chat, const std::string& path);
After read_matching(Chat& chat, const std::string& pattern);
After save_conversation(Chat& chat, const std::string& path);
After load_conversation(Chat& chat, const std::string& path);

// slash_show.cpp: what there is to know
After show(Chat& chat, const std::string& what);
After show_stats(Chat& chat, const std::string&);
After show_tokens(Chat& chat, const std::string& text);

}  // namespace maglio::app
