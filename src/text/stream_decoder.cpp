#include "base/utf8.h"
#include "maglio/tokenizer.h"

namespace maglio {

std::string StreamDecoder::add(TokenId id) {
  held_.append(tokenizer_->piece(id, special_));
  const size_t ready = complete_utf8_size(held_);
  std::string text = replace_broken_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text = replace_broken_utf8(held_);
  held_.clear();
  return text;
}

}  // namespace maglio
