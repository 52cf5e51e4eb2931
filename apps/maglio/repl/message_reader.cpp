#include "maglio/repl/message_reader.h"

#include <string>
#include <string_view>

namespace maglio::app {
namespace {

using Line = LineReader::Line;
using End = LineReader::End;

constexpr const char* kPrompt = ">>> ";
constexpr const char* kMore = "... ";
constexpr std::string_view kQuotes = "\"\"\"";

// The next line of a message that has begun; nothing when it ended with the input.
bool append_line(const ReadLine& read_line, Line& message, Line& next) {
  next = read_line(kMore);
  if (next.end == End::interrupted) {
    message = {"(dropped)", End::interrupted};
    return false;
  }
  return next.end == End::none;
}

Line read_block(const ReadLine& read_line, std::string first) {
  Line message{first.substr(kQuotes.size()), End::none}, next;
  bool empty = message.text.empty();  // the line feed behind the opening quotes is not said
  while (!message.text.ends_with(kQuotes)) {
    if (!append_line(read_line, message, next)) return message;
    message.text += (empty ? "" : "\n") + next.text;
    empty = false;
  }
  message.text.resize(message.text.size() - kQuotes.size());
  if (message.text.ends_with('\n')) message.text.pop_back();
  return message;
}

Line read_continued(const ReadLine& read_line, Line message) {
  Line next;
  while (message.text.ends_with('\\')) {
    message.text.back() = '\n';
    if (!append_line(read_line, message, next)) return message;
    message.text += next.text;
  }
  return message;
}

}  // namespace

Line read_message(const ReadLine& read_line) {
  Line line = read_line(kPrompt);
  if (line.end != End::none || line.text.find('\n') != std::string::npos) return line;
  if (line.text.starts_with(kQuotes)) return read_block(read_line, line.text);
  return read_continued(read_line, std::move(line));
}

}  // namespace maglio::app
