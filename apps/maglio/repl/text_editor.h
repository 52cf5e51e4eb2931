// The user's own editor, for a message that wants more than a line.
#pragma once

#include <string>

namespace maglio::app {

// Opens `text` in $VISUAL, else $EDITOR, else vi, waits, and returns what the user has made of it,
// without the line feed that editors put at the end. The text goes there in a file that only its
// owner can read; it is never part of a command. Requires: a terminal in its ordinary mode.
// Throws: Error io "EditorFailed" when there is no editor, or when it says that it failed.
std::string edit_in_editor(const std::string& text);

}  // namespace maglio::app
