// What a loaded model brings to a conversation.
#pragma once

#include <cstddef>
#include <string_view>

#include "chat/template.h"
#include "maglio/model.h"

namespace maglio {

// The context to use: what is asked for, else the model's own, else 4096.
size_t context_size_of(const Model& model, size_t asked);

namespace chat {

// Which of the four native templates a model speaks: recognised from its own template; ChatML where
// the file has none but the vocabulary knows its markers.
// Throws: Error unsupported "UnknownChatTemplate".
Template native_template(std::string_view source, const Tokenizer& tokenizer);

}  // namespace chat
}  // namespace maglio
