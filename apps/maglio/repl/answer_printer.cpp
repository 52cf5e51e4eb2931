#include "maglio/repl/answer_printer.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "maglio/interrupt.h"

namespace maglio::app {
namespace {

void write_now(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

ReasoningSplitter::Start thought_start(const Tokenizer& tokenizer,
                                       std::span<const TokenId> prompt) {
  constexpr size_t kTail = 8;  // a tag that is spelt out, and line feeds
  std::string tail =
      tokenizer.decode(prompt.last(std::min(prompt.size(), kTail)), Tokenizer::SpecialText::shown);
  tail.erase(tail.find_last_not_of(" \t\r\n") + 1);
  using Start = ReasoningSplitter::Start;
  return tail.ends_with("<think>") ? Start::inside : Start::unknown;
}

bool AnswerPrinter::print(std::string_view piece) {
  write_now(view().push(piece));
  return !InterruptGuard::interrupted();
}

void AnswerPrinter::finish() {
  write_now(view().finish());
}

void AnswerPrinter::abandon() {
  if (view_) finish();
}

AnswerView& AnswerPrinter::view() {
  if (!view_) view_.emplace(style_, start_());
  return *view_;
}

}  // namespace maglio::app
