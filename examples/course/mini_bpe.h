// A toy byte-pair encoder: the whole algorithm on one page (§12.2). The real one is src/text/bpe.h.
//
//   1. one symbol per character
//   2. while a rule applies anywhere: apply the earliest rule, at its leftmost place
//   3. look every symbol up
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace course {

struct MiniBpe {
  std::vector<std::string> vocab;                           // the id is the index
  std::vector<std::pair<std::string, std::string>> merges;  // the earlier, the stronger

  // Throws std::invalid_argument for a symbol that is not in the vocabulary.
  std::vector<int> encode(std::string_view text) const {
    std::vector<std::string> symbols = characters(text);
    for (size_t rule = 0; rule < merges.size();) {
      const size_t place = leftmost(merges[rule], symbols);
      if (place == symbols.size()) {
        ++rule;
        continue;
      }
      symbols[place] += symbols[place + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
      rule = 0;  // the new symbol may be what an earlier rule was waiting for
    }
    std::vector<int> ids;
    for (const std::string& symbol : symbols) ids.push_back(id_of(symbol));
    return ids;
  }

  // The exercise: any bytes, spelled with GPT-2's printable stand-ins (a space becomes Ġ).
  std::vector<int> encode_bytes(std::string_view bytes) const {
    std::string spelling;
    for (char byte : bytes) spelling += stand_in(static_cast<unsigned char>(byte));
    return encode(spelling);
  }

  // Printable bytes stand for themselves; the other 68 are counted from U+0100 on.
  static std::string stand_in(unsigned byte) {
    const auto prints = [](unsigned b) {
      return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    };
    unsigned code_point = byte;
    if (!prints(byte)) {
      code_point = 0x100;
      for (unsigned b = 0; b < byte; ++b) code_point += prints(b) ? 0 : 1;
    }
    if (code_point < 0x80) return {static_cast<char>(code_point)};
    return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 63))};
  }

 private:
  // One string per UTF-8 character.
  static std::vector<std::string> characters(std::string_view text) {
    std::vector<std::string> out;
    for (char c : text) {
      const bool goes_on = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
      if (goes_on && !out.empty()) {
        out.back() += c;
      } else {
        out.emplace_back(1, c);
      }
    }
    return out;
  }

  // Index of the first pair that the rule fits, or the number of symbols.
  static size_t leftmost(const std::pair<std::string, std::string>& rule,
                         const std::vector<std::string>& symbols) {
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] == rule.first && symbols[i + 1] == rule.second) return i;
    }
    return symbols.size();
  }

  int id_of(const std::string& symbol) const {
    const auto found = std::find(vocab.begin(), vocab.end(), symbol);
    if (found == vocab.end()) throw std::invalid_argument("unknown symbol '" + symbol + "'");
    return static_cast<int>(found - vocab.begin());
  }
};

}  // namespace course
