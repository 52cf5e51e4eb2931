#include "support/byte_vocabulary.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "text/byte_alphabet.h"

namespace maglio::test {
namespace {

constexpr int32_t kNormal = 1, kControl = 3, kUserDefined = 4;  // GGUF token types

}  // namespace

Tokenizer ByteVocabulary::tokenizer() const {
  std::vector<std::string> vocab, rules;
  for (int byte = 0; byte < 256; ++byte) {
    vocab.push_back(spell_bytes(std::string(1, static_cast<char>(byte))));
  }
  for (const std::string& merge : merges) {
    const size_t gap = merge.find(' ', 1);
    const std::string left = spell_bytes(merge.substr(0, gap));
    const std::string right = spell_bytes(merge.substr(gap + 1));
    rules.push_back(left + " " + right);
    vocab.push_back(left + right);
  }
  TokenizerParts parts;
  parts.token_types.assign(vocab.size(), kNormal);
  for (const std::string& special : specials) {
    vocab.push_back(special);
    const bool thought = special == "<think>" || special == "</think>";
    parts.token_types.push_back(thought ? kUserDefined : kControl);
  }
  parts.vocab.assign(vocab.begin(), vocab.end());
  parts.merges.assign(rules.begin(), rules.end());
  parts.pre = pre;
  if (!bos.empty()) parts.bos = special_id(bos);
  if (!eos.empty()) parts.eos = special_id(eos);
  parts.add_bos = false;
  return Tokenizer::from_parts(parts);
}

TokenId ByteVocabulary::special_id(std::string_view text) const {
  const auto at = std::find(specials.begin(), specials.end(), text);
  if (at == specials.end()) throw std::runtime_error("no such special token");
  return static_cast<TokenId>(256 + merges.size()) + static_cast<TokenId>(at - specials.begin());
}

}  // namespace maglio::test
