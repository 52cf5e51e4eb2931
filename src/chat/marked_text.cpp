#include "chat/marked_text.h"

namespace maglio::chat {

SpecialTokens control_tokens(const Tokenizer& tokenizer) {
  SpecialTokens controls;
  for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!tokenizer.is_control(id)) continue;
    const std::string_view text = tokenizer.piece(id, Tokenizer::SpecialText::shown);
    if (!text.empty()) controls.add(text, id);
  }
  return controls;
}

Rendered rendered_from(const jinja::Text& text, const SpecialTokens& controls) {
  Rendered out;
  const std::string_view bytes = text.bytes();
  for (size_t begin = 0; begin < bytes.size();) {
    size_t end = begin;
    while (end < bytes.size() && text.origin(end) == text.origin(begin)) ++end;
    const std::string_view run = bytes.substr(begin, end - begin);
    if (text.origin(begin) == jinja::Origin::said) {
      out.said(run);
    } else {
      size_t from = 0;
      for (const SpecialTokens::Match& match : controls.find(run)) {
        out.words(run.substr(from, match.begin - from)).marker(run.substr(match.begin, match.size));
        from = match.begin + match.size;
      }
      out.words(run.substr(from));
    }
    begin = end;
  }
  return out;
}

}  // namespace maglio::chat
