// The system message that a ChatML template says when nobody else does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace maglio::chat {

// Such a template holds it as a literal:
//   {{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, ...<|im_end|>\n' }}
// Returns the text between the two markers, its escapes resolved; nothing when no literal holds
// both (Qwen3: '<|im_start|>system\n' + messages[0].content + ...).
std::optional<std::string> default_system_message(std::string_view source);

}  // namespace maglio::chat
