// A message, which may be several lines of input.
#pragma once

#include <functional>

#include "maglio/repl/line_reader.h"

namespace maglio::app {

// A line that ends with a backslash goes on with the next one. """ opens a message of several
// lines,
// """ at the end of a line closes it; text may stand between them on the same line. Lines that came
// together (pasted, recalled, from an editor) are a message as they are. The end of the input ends
// a message too; Ctrl-C drops it.
using ReadLine = std::function<LineReader::Line(const char* prompt)>;
LineReader::Line read_message(const ReadLine& read_line);

}  // namespace maglio::app
