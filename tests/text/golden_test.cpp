// Ids equal llama.cpp's: a corpus of 130 kB, a text that frames every scalar value, and small
// cases, on five vocabularies. tools/gen_tokenizer_goldens.py made the data and says how.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "maglio/error.h"
#include "maglio/tokenizer.h"
#include "text/vocabularies.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
const std::filesystem::path kData =
    std::filesystem::path(MAGLIO_SOURCE_DIR) / "tests/data/tokenizer";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of a golden file that start with the word, without it.
std::vector<std::istringstream> golden_lines(const std::string& name, const std::string& word) {
  std::istringstream file(read(kData / (name + ".golden")));
  std::vector<std::istringstream> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(word + " ")) lines.emplace_back(line.substr(word.size() + 1));
  }
  EXPECT_FALSE(lines.empty()) << name << " has no " << word;
  return lines;
}

Ids encode(const Tokenizer& tokenizer, const std::string& mode, std::string_view text) {
  if (mode == "plain") return tokenizer.encode_plain(text);
  return mode == "frame" ? tokenizer.encode(text) : tokenizer.encode_raw(text);
}

// "N HASH", as the golden files state a list of ids.
std::string summary(const Ids& ids) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (TokenId id : ids) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (static_cast<uint32_t>(id) >> shift & 0xFF)) * 0x100000001B3u;
    }
  }
  std::ostringstream out;
  out << ids.size() << ' ' << std::hex;
  out.width(16);
  out.fill('0');
  out << hash;
  return out.str();
}

std::string rest_of(std::istringstream& line) {
  std::string rest;
  std::getline(line >> std::ws, rest);
  return rest;
}

std::string from_hex(const std::string& hex) {
  std::string text;
  if (hex == "-") return text;
  for (size_t i = 0; i < hex.size(); i += 2) {
    text.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return text;
}

// The bytes that SmolLM2's vocabulary lacks.
constexpr std::string_view kSmolLm2Lacks =
    "\x04\x06\x13\x14\x16\x1D\xC0\xC1\xF1\xF2\xF5\xF6\xF7\xF8\xF9\xFA\xFB\xFC\xFD\xFE\xFF";

std::string utf8_of(char32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

bool is_refused(const Tokenizer& tokenizer, const std::string& text) {
  try {
    (void)tokenizer.encode_plain(text);
    return false;
  } catch (const Error& error) {
    return error.code() == "UnknownSymbol";
  }
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, SmallCasesGiveLlamaCppsIds) {
  MAGLIO_NEED_VOCABULARY(tokenizer, GetParam());
  for (std::istringstream& line : golden_lines(GetParam(), "case")) {
    std::string mode;
    std::string hex;
    line >> mode >> hex;
    const std::string text = from_hex(hex);
    const Ids expected{std::istream_iterator<TokenId>(line), {}};
    EXPECT_EQ(encode(tokenizer, mode, text), expected) << mode << ": " << text;
  }
}

TEST_P(Golden, TheCorpusGivesLlamaCppsIds) {
  MAGLIO_NEED_VOCABULARY(tokenizer, GetParam());
  const std::string corpus = read(kData / "corpus.txt");
  ASSERT_GE(corpus.size(), 100'000u);
  for (std::istringstream& line : golden_lines(GetParam(), "corpus")) {
    std::string mode;
    line >> mode;
    EXPECT_EQ(summary(encode(tokenizer, mode, corpus)), rest_of(line)) << mode;
  }
}

TEST_P(Golden, EveryBlockOfTheCorpusGivesLlamaCppsIds) {
  MAGLIO_NEED_VOCABULARY(tokenizer, GetParam());
  const std::string corpus = read(kData / "corpus.txt");
  for (std::istringstream& line : golden_lines(GetParam(), "block")) {
    size_t begin = 0;
    size_t size = 0;
    line >> begin >> size;
    const std::string_view text = std::string_view(corpus).substr(begin, size);
    EXPECT_EQ(summary(tokenizer.encode_raw(text)), rest_of(line)) << text;
  }
}

TEST_P(Golden, EveryScalarValueInItsFrameGivesLlamaCppsIds) {
  MAGLIO_NEED_VOCABULARY(tokenizer, GetParam());
  const std::string_view lacks =
      std::string_view(GetParam()) == "smollm2" ? kSmolLm2Lacks : std::string_view();
  size_t n_scalars = 0;
  for (std::istringstream& line : golden_lines(GetParam(), "scalars")) {
    uint32_t first = 0;
    line >> first;
    std::string text;  // gen_tokenizer_goldens.py: scalar_text
    for (char32_t c = first; c < first + 4096; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      const std::string scalar = utf8_of(c);
      if (scalar.find_first_of(lacks) != std::string::npos) continue;
      text.append("a").append(scalar).append(" ").append(scalar).append("1\n");
      ++n_scalars;
    }
    EXPECT_EQ(summary(tokenizer.encode_raw(text)), rest_of(line)) << "from " << first;
  }
  const size_t n_lacking = lacks.empty() ? 0 : 6 + 8 * 0x10000;  // controls, planes 4 to 11
  EXPECT_EQ(n_scalars, 0x110000u - 0x800u - n_lacking);
}

TEST(GoldenSmolLm2, AByteOutsideTheVocabularyIsRefusedNeverDropped) {
  MAGLIO_NEED_VOCABULARY(tokenizer, "smollm2");
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(is_refused(tokenizer, text), kSmolLm2Lacks.find(text) != std::string::npos) << byte;
  }
  EXPECT_TRUE(is_refused(tokenizer, utf8_of(0x40000)));
  EXPECT_TRUE(is_refused(tokenizer, utf8_of(0xBFFFF)));
  EXPECT_FALSE(is_refused(tokenizer, utf8_of(0xC0000)));
}

TEST_P(Golden, TheCorpusComesBackFromItsIds) {
  MAGLIO_NEED_VOCABULARY(tokenizer, GetParam());
  const std::string corpus = read(kData / "corpus.txt");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_raw(corpus), Tokenizer::SpecialText::shown), corpus);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode_plain(corpus)), corpus);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies,
                         Golden,
                         testing::Values("qwen3", "llama-bpe", "gpt-2", "default", "smollm2"),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace maglio
