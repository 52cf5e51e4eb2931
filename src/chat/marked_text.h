// A text that remembers who wrote it becomes a prompt in segments.
#pragma once

#include "chat/jinja/text.h"
#include "chat/rendered.h"
#include "text/special_tokens.h"

namespace maglio::chat {

// The control tokens of a vocabulary, by their texts.
SpecialTokens control_tokens(const Tokenizer& tokenizer);

// Control tokens are looked for in what the template wrote, by the tokenizer's own rule (the
// longest first); one that has so much as a byte of somebody else's is text.
Rendered rendered_from(const jinja::Text& text, const SpecialTokens& controls);

}  // namespace maglio::chat
