// A rendered prompt, in segments that remember who wrote them.
//
// The markers of a template (<|im_start|>) must become control tokens; the same letters typed by a
// user must not. So a prompt is no string but a list: markers, the template's own words, and what
// somebody said. Between two markers everything is encoded as one text, because the tokenizer's
// merges do not stop where the template ends and the user begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio::chat {

struct Segment {
  enum class Kind : uint8_t {
    marker,  // one special token, by its text; trusted
    words,   // the template's own text between markers; trusted
    said,    // from a user, a system prompt, an earlier answer: never a control token
  };
  Kind kind;
  std::string text;
  bool operator==(const Segment&) const = default;
};

class Rendered {
 public:
  Rendered& marker(std::string_view text) { return append(Segment::Kind::marker, text); }
  Rendered& words(std::string_view text) { return append(Segment::Kind::words, text); }
  Rendered& said(std::string_view text) { return append(Segment::Kind::said, text); }

  const std::vector<Segment>& segments() const { return segments_; }
  // As one string: what the reference engines tokenize.
  std::string text() const;

 private:
  Rendered& append(Segment::Kind kind, std::string_view text);

  std::vector<Segment> segments_;
};

// The ids of a rendered prompt; no BOS or EOS is added.
//
// With Specials::plain, markers become their tokens (or text, where the vocabulary lacks them) and
// everything between two markers is encoded as one plain text. With Specials::parse the whole is
// encoded as one string in which every special token counts, whoever wrote it. The two agree
// wherever nobody said a control token's name.
template <class TextTokenizer>
std::vector<TokenId> encode(const TextTokenizer& tokenizer,
                            const Rendered& rendered,
                            Tokenizer::Specials said,
                            Tokenizer::Normalization normalization) {
  if (said == Tokenizer::Specials::parse) {
    return tokenizer.encode_with(rendered.text(),
                                 {.specials = said, .normalization = normalization});
  }
  std::vector<TokenId> ids;
  std::string between;
  auto end_text = [&] {
    const auto part =
        tokenizer.encode_with(between, {.specials = said, .normalization = normalization});
    ids.insert(ids.end(), part.begin(), part.end());
    between.clear();
  };
  for (const Segment& segment : rendered.segments()) {
    const auto id = segment.kind == Segment::Kind::marker ? tokenizer.token_id(segment.text)
                                                          : std::optional<TokenId>();
    if (id) {
      end_text();
      ids.push_back(*id);
    } else {
      between += segment.text;
    }
  }
  end_text();
  return ids;
}

}  // namespace maglio::chat
