// Cuts a text into chunks, roughly words. Merges never cross a chunk border, so one border moved is
// another list of ids.
//
// Each rule set is officially a regular expression; here it is a hand-written loop over code points
// that gives llama.cpp's chunks (llama-vocab.cpp and unicode.cpp of llama-cpp-python 0.3.36). With
// \p{L} letters, \p{N} numbers, \s white space, tried from left to right:
//
//   qwen2      (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}
//              |  ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//   llama_bpe  the same with \p{N}{1,3}
//   gpt2       's|'t|'re|'ve|'m|'ll|'d |  ?\p{L}+ |  ?\p{N}+ |  ?[^\s\p{L}\p{N}]+ | \s+(?!\S) | \s+
//   smollm     every \p{N} alone, then gpt2 between them
//   standard   runs of [\p{P}$+<=>^~|] alone, then gpt2, then \p{N}+ alone, then ASCII digits by
//              three: what llama.cpp calls "default"
//
// A byte that is not part of valid UTF-8 is a character of its own, of U+FFFD's class (a symbol).
#pragma once

#include <string_view>
#include <vector>

namespace maglio {

enum class PreRules { qwen2, llama_bpe, gpt2, smollm, standard };

// The chunks in order, views into the text; joined they are the text.
std::vector<std::string_view> split_chunks(PreRules rules, std::string_view text);

}  // namespace maglio
