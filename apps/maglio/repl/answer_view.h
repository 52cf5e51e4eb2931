// An answer on its way to the screen: thought is dim or hidden, control characters are harmless.
#pragma once

#include <string>
#include <string_view>

#include "maglio/repl/reasoning.h"

namespace maglio::app {

struct AnswerStyle {
  bool colour = false;         // thought is dim
  bool terminal = false;       // control characters are made harmless
  bool hide_thinking = false;  // thought, and the blank lines behind it, are left out
};

// What stdout asks for.
AnswerStyle answer_style(bool hide_thinking);

class AnswerView {
 public:
  explicit AnswerView(AnswerStyle style, ReasoningSplitter::Start start = {})
      : style_(style), splitter_(start) {}

  // The bytes to write for a piece of the answer.
  std::string push(std::string_view piece);
  // The bytes that end it, with a line feed where the text has none, be it empty.
  std::string finish();

 private:
  std::string show(const ReasoningSplitter::Part& part);

  AnswerStyle style_;
  ReasoningSplitter splitter_;
  bool dim_ = false;
  bool after_hidden_ = false;  // nothing but blanks since a hidden thought
  char last_ = '\0';           // of the text shown
};

}  // namespace maglio::app
