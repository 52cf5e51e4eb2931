// Prints an answer while it comes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "maglio/generation.h"
#include "maglio/repl/answer_view.h"

namespace maglio::app {

// Inside where the prompt has opened a thought, as some templates do.
ReasoningSplitter::Start thought_start(const Tokenizer& tokenizer, std::span<const TokenId> prompt);

class AnswerPrinter {
 public:
  // Asked when the first piece comes.
  using Start = std::function<ReasoningSplitter::Start()>;
  AnswerPrinter(AnswerStyle style, Start start) : style_(style), start_(std::move(start)) {}

  // Writes to stdout; false after Ctrl-C.
  bool print(std::string_view piece);
  // Ends the answer and its line.
  void finish();
  // Ends the line of an answer that an error has cut off, if there is any.
  void abandon();

 private:
  AnswerView& view();

  AnswerStyle style_;
  Start start_;
  std::optional<AnswerView> view_;
};

}  // namespace maglio::app
