// What a model file's tokenizer.ggml.pre stands for.
#pragma once

#include <optional>
#include <string_view>

#include "text/pretokenizer.h"

namespace maglio {

struct PreTokenizer {
  PreRules rules = PreRules::qwen2;
  bool whole_words = false;  // a chunk that is a token by itself is taken unmerged
  bool add_bos = false;      // where the file has no tokenizer.ggml.add_bos_token
};

// nullopt: a name whose rules maglio does not have. An absent name ("") is llama.cpp's default.
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);

}  // namespace maglio
