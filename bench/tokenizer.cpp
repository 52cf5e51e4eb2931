// Loading a vocabulary, and encoding 1 MB of prose on one core:
//
//   bench_tokenizer [MODEL.gguf ...]      default: the vocabularies that are in models/
//
// Times are CPU time, the best of seven runs.
//
// The prose is made of a fixed list of words with a fixed seed, about English in word lengths and
// repetition; "no two words alike" is the same with a number written in letters behind each word,
// so that remembering words does not help.
#include "maglio/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/reader.h"
#include "maglio/error.h"

namespace {

constexpr size_t kProseBytes = 1'000'000;
constexpr int kRounds = 7;

// clang-format off
constexpr std::string_view kWords[] = {
    "the", "the", "the", "of", "and", "and", "a", "to", "in", "was", "it", "he", "she", "that", "his", "with", "as",
    "for", "had", "at", "on", "but", "not", "be", "by", "harbour", "morning", "captain", "nineteen", "boats", "counted",
    "breakfast", "river", "window", "quietly", "remembered", "understanding", "children", "through", "another", "between",
    "extraordinary", "conversation", "blue", "notebook", "lamp", "winter", "northern", "afterwards", "disappeared",
    "thought", "would", "could", "people", "because", "nothing", "little", "house", "against", "impossible", "letters",
    "Anna", "Lisbon", "October", "don't", "it's", "they'd", "half-past", "1897", "42"};
// clang-format on

enum class Words { repeat, never_repeat };

std::string make_prose(Words words) {
  uint64_t state = 7;
  const auto random = [&](size_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % limit;
  };
  std::string prose;
  size_t n_words = 0;
  while (prose.size() < kProseBytes) {
    prose += kWords[random(std::size(kWords))];
    if (words == Words::never_repeat) {
      for (size_t number = n_words; number > 0; number /= 26) {
        prose += static_cast<char>('a' + number % 26);
      }
    }
    prose += random(12) == 0 ? ". " : random(9) == 0 ? ", " : " ";
    if (++n_words % 90 == 0) prose += "\n\n";
  }
  return prose;
}

// CPU time: everything here runs on one thread, and a busy machine must not count.
template <class F>
double best_ms(F&& f) {
  double best = 1e9;
  for (int i = 0; i < kRounds; ++i) {
    const std::clock_t start = std::clock();
    f();
    best = std::min(best, static_cast<double>(std::clock() - start) * 1e3 / CLOCKS_PER_SEC);
  }
  return best;
}

void measure(const std::string& path) {
  const maglio::gguf::File file = maglio::gguf::File::open(path);
  const auto load = [&] { return maglio::Tokenizer::from_gguf(file.metadata()); };
  const maglio::Tokenizer tokenizer = load();
  const double load_ms = best_ms([&] { (void)load(); });
  fmt::print("{}: {} tokens, loaded in {:.0f} ms\n", path, tokenizer.vocab_size(), load_ms);
  for (const Words words : {Words::repeat, Words::never_repeat}) {
    const std::string prose = make_prose(words);
    size_t n_ids = 0;
    const double ms = best_ms([&] { n_ids = tokenizer.encode(prose).size(); });
    fmt::print("  {:22} {:.2f} MB, {:6} ids: {:6.1f} ms, {:5.1f} MB/s\n",
               words == Words::repeat ? "prose" : "no two words alike",
               static_cast<double>(prose.size()) / 1e6, n_ids, ms,
               static_cast<double>(prose.size()) / 1e3 / ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    paths = {"models/vocab/qwen3.gguf", "models/vocab/llama-bpe.gguf",
             "models/SmolLM2-135M-Instruct.Q4_1.gguf"};
    std::erase_if(paths, [](const std::string& path) { return !std::filesystem::exists(path); });
  }
  try {
    for (const std::string& path : paths) measure(path);
  } catch (const maglio::Error& error) {
    fmt::print(stderr, "bench_tokenizer: {}\n", error.message());
    return 1;
  }
  return 0;
}
