// The tokens of a model: text, kind, and the bytes that each stands for.
//
// Kinds come from the file's token types, corrected by text as llama.cpp does: a token that is
// known to end a generation or to serve fill-in-the-middle is a control token whatever its type
// says. Owns copies of everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maglio/tokenizer.h"

namespace maglio {

enum class TokenKind : uint8_t {
  normal,        // spelled in the byte alphabet
  control,       // hidden in text; parsed only where the program writes the text
  unknown,       // the token for what no token covers; treated like a control token
  user_defined,  // added text of its own: always one token, always visible
  unused,        // a number without text
};

class Vocabulary {
 public:
  // Throws: Error bad_file (no tokens, lengths differ).
  Vocabulary(std::span<const std::string_view> texts, std::span<const int32_t> token_types);

  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  size_t size() const { return kinds_.size(); }
  bool contains(TokenId id) const { return id >= 0 && static_cast<size_t>(id) < size(); }
  // As the file spells it. Requires: contains(id), as all that take an id.
  std::string_view text(TokenId id) const { return texts_.view(id); }
  // The bytes that it stands for.
  std::string_view piece(TokenId id) const { return pieces_.view(id); }
  TokenKind kind(TokenId id) const { return kinds_[static_cast<size_t>(id)]; }
  // Of several tokens with one text, the last.
  std::optional<TokenId> find(std::string_view text) const;
  // Tokens that end a generation by their text, ascending.
  std::span<const TokenId> end_tokens() const { return end_tokens_; }

 private:
  // Strings end to end in one block.
  class Strings {
   public:
    void add(std::string_view text);
    void reserve(size_t n, size_t bytes);
    std::string_view view(TokenId id) const {
      const auto i = static_cast<size_t>(id);
      return {bytes_.data() + ends_[i], ends_[i + 1] - ends_[i]};
    }

   private:
    std::vector<char> bytes_;
    std::vector<size_t> ends_{0};
  };

  // Where a text stands in slots_, or the empty slot where it would go.
  size_t slot_of(std::string_view text) const;
  void index_texts();
  void set_kinds(std::span<const int32_t> token_types);
  void correct_kinds_by_text();
  void drop_end_token(std::string_view text, TokenKind kind);
  void add_piece(TokenId id);

  Strings texts_;
  Strings pieces_;
  std::vector<TokenKind> kinds_;
  std::vector<TokenId> end_tokens_;
  // Open addressing by text, at most half full. (Half the time of an unordered_map, and loading a
  // vocabulary is little else than half a million look-ups.)
  struct Slot {
    uint32_t hash = 0;
    TokenId id = -1;  // -1: empty
  };
  std::vector<Slot> slots_;
};

}  // namespace maglio
