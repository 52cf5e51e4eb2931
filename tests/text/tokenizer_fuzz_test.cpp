// Random vocabularies, rules, types and texts: an Error with a code, or a tokenizer whose decode
// undoes its encode. Never a crash (the sanitizers watch).
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "maglio/error.h"
#include "maglio/tokenizer.h"
#include "text/byte_alphabet.h"
#include "text/special_tokens.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  size_t below(size_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state_ >> 33) % limit;
  }
  std::string text(size_t max_size, std::string_view alphabet) {
    std::string out;
    for (size_t n = below(max_size + 1); n > 0; --n) out += alphabet[below(alphabet.size())];
    return out;
  }

 private:
  uint64_t state_;
};

TEST(TokenizerFuzz, AnyPartsGiveATokenizerOrAnError) {
  constexpr std::string_view kAlphabet = "ab <|>\xC4\xA0\xFF\x00z";
  size_t n_built = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice(seed);
    std::vector<std::string> vocab(dice.below(12));
    for (std::string& token : vocab) token = dice.text(5, kAlphabet);
    std::vector<std::string> merges(dice.below(8));
    for (std::string& merge : merges) {
      merge = dice.text(3, "ab") + (dice.below(9) ? " " : "") + dice.text(3, "ab");
    }
    TokenizerParts parts;
    parts.vocab.assign(vocab.begin(), vocab.end());
    parts.merges.assign(merges.begin(), merges.end());
    if (dice.below(2)) {
      for (size_t i = 0; i < vocab.size(); ++i) {
        parts.token_types.push_back(static_cast<int32_t>(dice.below(9)) - 1);
      }
    }
    if (dice.below(4) == 0) parts.eos = static_cast<TokenId>(dice.below(12)) - 1;
    try {
      const Tokenizer tokenizer = Tokenizer::from_parts(parts);
      ++n_built;
      for (int i = 0; i < 4; ++i) (void)tokenizer.encode(dice.text(20, kAlphabet));
    } catch (const Error& error) {
      EXPECT_FALSE(error.code().empty());
      EXPECT_FALSE(error.message().empty());
    }
  }
  EXPECT_GT(n_built, 500u) << "most rounds must get as far as encoding";
}

// All bytes, some merges and some special tokens, so that every text has ids.
Tokenizer random_tokenizer(Dice& dice, std::string pre) {
  std::vector<std::string> vocab;
  for (unsigned b = 0; b < 256; ++b) {
    vocab.push_back(spell_bytes(std::string(1, static_cast<char>(b))));
  }
  std::vector<std::string> merges;
  for (int i = 0; i < 200; ++i) {
    const std::string left = vocab[dice.below(vocab.size())];
    const std::string right = vocab[dice.below(vocab.size())];
    merges.push_back(left + " " + right);
    if (dice.below(4)) vocab.push_back(left + right);
  }
  std::vector<int32_t> types(vocab.size(), 1);
  for (int i = 0; i < 6; ++i) {
    vocab.push_back("<" + std::to_string(i) + dice.text(2, "ab|>"));
    types.push_back(dice.below(2) ? 3 : 4);
  }
  TokenizerParts parts;
  parts.vocab.assign(vocab.begin(), vocab.end());
  parts.merges.assign(merges.begin(), merges.end());
  parts.token_types = types;
  parts.pre = std::move(pre);
  return Tokenizer::from_parts(parts);
}

TEST(TokenizerFuzz, DecodeUndoesEncodeForAnyBytes) {
  std::string any_byte;
  for (unsigned b = 0; b < 256; ++b) any_byte += static_cast<char>(b);
  for (const char* pre : {"qwen2", "llama-bpe", "gpt-2", "smollm", "default"}) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Dice dice(seed);
      const Tokenizer tokenizer = random_tokenizer(dice, pre);
      for (int i = 0; i < 20; ++i) {
        const std::string text =
            dice.text(60, i % 2 ? std::string_view(any_byte) : "<ab|> 0123'\n\xC3");
        ASSERT_EQ(tokenizer.decode(tokenizer.encode(text), Tokenizer::SpecialText::shown), text);
        ASSERT_EQ(tokenizer.decode(tokenizer.encode_plain(text)), text);
      }
    }
  }
}

// The rule as it is stated: token by token, longest first, each over what is left of the text.
std::vector<std::pair<size_t, TokenId>> find_plainly(const std::vector<std::string>& tokens,
                                                     const std::string& text) {
  std::vector<bool> taken(text.size(), false);
  std::vector<std::pair<size_t, TokenId>> found;
  for (size_t size = text.size(); size > 0; --size) {
    for (size_t id = 0; id < tokens.size(); ++id) {
      if (tokens[id].size() != size) continue;
      for (size_t at = 0; at + size <= text.size(); ++at) {
        const auto begin = taken.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = begin + static_cast<std::ptrdiff_t>(size);
        if (text.compare(at, size, tokens[id]) != 0 || std::find(begin, end, true) != end) continue;
        std::fill(begin, end, true);
        found.emplace_back(at, static_cast<TokenId>(id));
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(TokenizerFuzz, SpecialTokensAreFoundAsTheRuleSays) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Dice dice(seed);
    std::vector<std::string> tokens;
    SpecialTokens special;
    for (int i = 0; i < 5; ++i) {
      const std::string token = "a" + dice.text(4, "ab");
      if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) continue;
      special.add(token, static_cast<TokenId>(tokens.size()));
      tokens.push_back(token);
    }
    const std::string text = dice.text(30, "aab");
    std::vector<std::pair<size_t, TokenId>> found;
    for (const SpecialTokens::Match& match : special.find(text)) {
      EXPECT_EQ(match.size, tokens[static_cast<size_t>(match.id)].size());
      found.emplace_back(match.begin, match.id);
    }
    ASSERT_EQ(found, find_plainly(tokens, text)) << text;
  }
}

TEST(TokenizerFuzz, ThreadsMayShareATokenizer) {
  Dice dice(1);
  const Tokenizer tokenizer = random_tokenizer(dice, "qwen2");
  const std::string text = dice.text(5000, "ab <|>1'\n");
  const Ids expected = tokenizer.encode(text);
  std::vector<Ids> ids(4);
  std::vector<std::thread> threads;
  for (Ids& mine : ids) threads.emplace_back([&] { mine = tokenizer.encode(text); });
  for (std::thread& thread : threads) thread.join();
  for (const Ids& mine : ids) EXPECT_EQ(mine, expected);
}

TEST(TokenizerFuzz, ATextThatIsTooLongIsRefusedBeforeItIsRead) {
  Dice dice(1);
  const Tokenizer tokenizer = random_tokenizer(dice, "qwen2");
  const char byte = 'a';
  try {
    (void)tokenizer.encode(std::string_view(&byte, size_t{1} << 31));
    FAIL() << "no Error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "TextTooLong");
  }
}

}  // namespace
}  // namespace maglio
