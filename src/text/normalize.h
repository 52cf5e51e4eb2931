// Unicode normalisation form C: e + U+0301 becomes é. Off by default: llama.cpp does not normalise,
// Hugging Face's tokenizer of Qwen does, so the two give other ids for decomposed text.
#pragma once

#include <string>
#include <string_view>

namespace maglio {

// Bytes that are not valid UTF-8 stay as they are; the text between them is normalised.
std::string to_nfc(std::string_view text);

}  // namespace maglio
