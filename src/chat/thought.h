// The thought that some models write before an answer: <think>...</think>.
#pragma once

#include <string>
#include <string_view>

namespace maglio::chat {

struct SplitAnswer {
  std::string reasoning;  // without the line feeds around it; empty: none
  std::string content;
};

// Does a prompt end inside a thought, because the template has opened one for the model?
bool opens_thought(std::string_view prompt);

// A thought begins where the answer does (or before, in the prompt) and ends at the first closing
// tag: later tags are content. An answer that ends inside its thought has no content.
SplitAnswer split_thought(std::string_view answer, bool opened);

}  // namespace maglio::chat
