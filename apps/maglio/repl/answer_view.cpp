#include "maglio/repl/answer_view.h"

#include <cstdio>

#include "maglio/harmless.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr const char* kDim = "\x1b[2m";
constexpr const char* kPlain = "\x1b[0m";

}  // namespace

AnswerStyle answer_style(bool hide_thinking) {
  return {use_colour(stdout), is_terminal(stdout), hide_thinking};
}

std::string AnswerView::push(std::string_view piece) {
  std::string out;
  for (const auto& part : splitter_.push(piece)) out += show(part);
  return out;
}

std::string AnswerView::finish() {
  std::string out;
  for (const auto& part : splitter_.flush()) out += show(part);
  if (dim_) out += kPlain;
  dim_ = false;
  if (last_ != '\n') out += '\n';
  return out;
}

std::string AnswerView::show(const ReasoningSplitter::Part& part) {
  if (part.is_reasoning && style_.hide_thinking) {
    after_hidden_ = true;
    return {};
  }
  std::string text = style_.terminal ? harmless(part.text) : part.text;
  if (after_hidden_ && !part.is_reasoning) {
    text.erase(0, text.find_first_not_of(" \t\r\n"));
    after_hidden_ = text.empty();
  }
  if (text.empty()) return text;
  last_ = text.back();
  const bool dim = part.is_reasoning && style_.colour;
  if (dim != dim_) text.insert(0, dim ? kDim : kPlain);
  dim_ = dim;
  return text;
}

}  // namespace maglio::app
