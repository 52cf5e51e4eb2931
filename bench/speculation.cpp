// How much sooner a text comes with guesses: plain and speculative decoding of the same tokens, in
// turns, in one process.
//
//   bench_speculation MODEL [OTHER_MODEL]... [--pairs N] [--seconds N] [--tokens N] [--only NAME]
//
// The first model speaks: its own text on prompts of four kinds (to copy, to edit code, to tell
// freely, greedily and with temperature). Each text is then decoded again and again, plainly and
// with guesses by turns, each time with a new drafter and a new gate that know nothing; the figure
// is the median of the ratios of the pairs. Other models replay the first one's texts: their logits
// are forced, since a model of the same geometry with random weights would only loop, and the
// forcing constraint keeps its knowledge from the drafter. The bound is what a drafter that is
// always right would reach: the most rows a time, of 1 to 16, as this machine takes them. With
// --seconds, each text has an equal share of the time that is left, and after three pairs no more
// begin than fit into it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "decode/generate.h"
#include "decode/guesser.h"
#include "maglio/model.h"
#include "model/kv_cache.h"
#include "model/model.h"
#include "model/transformer.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using Clock = std::chrono::steady_clock;

struct Prompt {
  const char* kind;
  const char* text;
  float temperature;
};

// As the default model's template renders a first turn.
const std::string kOpening =
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n<|im_start|>user\n";

const char* const kStack =
    "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n"
    "        self.items.append(item)\n\n    def pop(self):\n        if not self.items:\n"
    "            raise IndexError(\"pop from empty stack\")\n        return self.items.pop()\n\n"
    "    def peek(self):\n        return self.items[-1]\n\n    def __len__(self):\n"
    "        return len(self.items)\n";
const char* const kAccount =
    "class Account {\n  constructor(owner, balance) {\n    this.owner = owner;\n"
    "    this.balance = balance;\n  }\n\n  deposit(amount) {\n    if (amount <= 0) {\n"
    "      throw new Error(\"amount must be positive\");\n    }\n    this.balance += amount;\n"
    "    return this.balance;\n  }\n\n  withdraw(amount) {\n    if (amount > this.balance) {\n"
    "      throw new Error(\"not enough money\");\n    }\n    this.balance -= amount;\n"
    "    return this.balance;\n  }\n}\n";
const char* const kHarbour =
    "The harbour lay quiet under a thin sheet of fog. Three fishing boats, the Marta, the Gull and "
    "the Old Anna, rocked against their ropes while the keeper of the lighthouse counted the "
    "seconds between two flashes. At four in the morning the first lorry came down the hill, its "
    "lamps yellow and weak, and stopped beside the ice house. A man in a grey coat climbed out, "
    "looked at the water for a long time, and then knocked twice on the door of the office. Nobody "
    "answered. He knocked again, louder, and a dog began to bark behind the sheds.";

const char* const kStaff =
    "1. Anna Weber, Berlin, engineer\n2. Paul Martin, Lyon, designer\n3. Sofia Rossi, Milan, "
    "analyst\n4. Jan de Vries, Utrecht, writer\n5. Marta Silva, Porto, manager\n6. Tom Baker, "
    "Leeds, tester\n7. Ines Garcia, Seville, nurse\n8. Olga Novak, Brno, teacher\n9. Peter Lind, "
    "Malmo, carpenter\n10. Eva Horvat, Zagreb, lawyer\n11. Luc Peeters, Ghent, baker\n12. Nora "
    "Berg, Bergen, sailor\n13. Hugo Blanc, Nantes, painter\n14. Carla Conti, Turin, driver\n";

std::vector<std::pair<Prompt, std::string>> prompts() {
  const std::string stack = fmt::format("```python\n{}```", kStack);
  const std::string account = fmt::format("```javascript\n{}```", kAccount);
  return {
      {{"copy", "code, repeated", 0}, "Repeat this code exactly:\n\n" + account},
      {{"copy", "prose, repeated", 0}, fmt::format("Repeat this text exactly:\n\n{}", kHarbour)},
      {{"copy", "list, repeated", 0},
       fmt::format("Here is a list of employees:\n{}\nPrint the list again, unchanged.", kStaff)},
      {{"edit", "class renamed", 0},
       "Rename the class Stack to Pile in this code and print the whole code:\n\n" + stack},
      {{"edit", "docstrings added", 0},
       "Add a docstring to each method of this class:\n\n" + stack},
      {{"edit", "method added", 0},
       "Add a method that returns the owner, and print the whole code:\n\n" + account},
      {{"prose", "story", 0}, "Write a short story about a lighthouse keeper and a storm."},
      {{"prose", "explanation", 0}, "Explain how a bicycle stays upright."},
      {{"prose", "story, t 0.7", 0.7f},
       "Write a short story about a lighthouse keeper and a storm."},
      {{"prose", "history, t 0.7", 0.7f}, "What are the causes of the First World War?"},
      {{"prose", "travel, t 0.7", 0.7f}, "Describe the city of Lisbon to a traveller."},
  };
}

// A text that is there already: the sampler has no choice, and nobody is told beforehand.
class Replay : public Constraint {
 public:
  explicit Replay(const Ids& answer) : answer_(answer) {}
  void mask(std::span<float> logits) override {
    std::ranges::fill(logits, -std::numeric_limits<float>::infinity());
    logits[static_cast<size_t>(answer_[n_])] = 0;
  }
  void accept(TokenId) override { ++n_; }

 private:
  const Ids& answer_;
  size_t n_ = 0;
};

struct Text {
  Prompt prompt;
  Ids prompt_ids;
  Ids answer;
};

struct Run {
  Ids answer;
  double seconds = 0;  // from the first token on
  SpeculationStats stats;
};

enum class Mode : uint8_t { plain, speculative };

Run decode(Transformer& model,
           const Text& text,
           size_t n_tokens,
           Mode mode,
           bool replay,
           const Tokenizer* tokenizer) {
  KvCache cache = model.new_cache(text.prompt_ids.size() + n_tokens + 1);
  Ids tokens = text.prompt_ids;
  Sampler sampler({.temperature = replay ? 0 : text.prompt.temperature, .seed = 1},
                  model.kernels());
  Replay forced(text.answer);
  Guesser guesser{Speculation(model.kernels())};
  Sequence<Transformer> sequence{model, cache, tokens, sampler, replay ? &forced : nullptr};
  if (mode == Mode::speculative) sequence.drafter = &guesser.drafter, sequence.gate = &guesser.gate;
  std::optional<Clock::time_point> first;
  Clock::time_point last;
  generate(sequence, n_tokens, [&](TokenId id) {
    last = Clock::now();
    if (!first) first = last;
    return tokenizer != nullptr && tokenizer->is_eos(id) ? Verdict::end_without : Verdict::go_on;
  });
  Run run;
  run.answer.assign(tokens.begin() + static_cast<std::ptrdiff_t>(text.prompt_ids.size()),
                    tokens.end());
  run.seconds = std::chrono::duration<double>(last - *first).count();
  run.stats = guesser.drafter.stats();
  return run;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// Passes of 1 to 16 rows behind 256 tokens, all logits wanted, by turns; their median times in
// passes of one row.
std::vector<double> row_costs(Transformer& model, size_t n_rounds) {
  constexpr size_t kDepth = 256, kMaxRows = 16;
  KvCache cache = model.new_cache(kDepth + kMaxRows);
  const Ids ids(kDepth, 100);
  model.forward_step(cache, ids, 0);
  std::vector<std::vector<double>> seconds(kMaxRows + 1);
  for (size_t round = 0; round <= n_rounds; ++round) {
    for (size_t n = 1; n <= kMaxRows; ++n) {
      const auto start = Clock::now();
      model.forward_step_all_logits(cache, std::span(ids).first(n), kDepth);
      const double taken = std::chrono::duration<double>(Clock::now() - start).count();
      if (round > 0) seconds[n].push_back(taken);
      cache.truncate(kDepth);
    }
  }
  std::vector<double> costs(kMaxRows + 1, 0.0);
  for (size_t n = 1; n <= kMaxRows; ++n) costs[n] = median(seconds[n]) / median(seconds[1]);
  return costs;
}

double print_bound(const std::vector<double>& costs) {
  fmt::print("cost of rows, in passes of one:");
  double bound = 1;
  for (size_t n = 1; n < costs.size(); ++n) {
    fmt::print(" {}:{:.2f}", n, costs[n]);
    bound = std::max(bound, static_cast<double>(n) / costs[n]);
  }
  fmt::print("\nbound: {:.2f}\n\n", bound);
  return bound;
}

struct Options {
  std::vector<std::string> models;
  size_t n_pairs = 10;
  std::optional<std::chrono::seconds> time = {};  // for everything
  size_t n_tokens = 256;
  std::string only;
};

// Divides the time among the measurements that are still to come.
class Timetable {
 public:
  explicit Timetable(const Options& options) {
    if (options.time) end_ = Clock::now() + *options.time;
  }
  void expect(size_t n_measurements) { n_left_ = n_measurements; }
  // The next measurement begins.
  void next() {
    begin_ = Clock::now();
    share_end_ = end_ == kNever ? kNever : begin_ + (end_ - begin_) / static_cast<long>(n_left_);
    --n_left_;
  }
  // Is there room for another pair that takes as long as the mean of those before?
  bool has_room(size_t n_pairs) const {
    constexpr size_t kLeastPairs = 3;
    if (share_end_ == kNever || n_pairs < kLeastPairs) return true;
    const auto now = Clock::now();
    return now + (now - begin_) / static_cast<long>(n_pairs) <= share_end_;
  }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  Clock::time_point end_ = kNever, begin_ = kNever, share_end_ = kNever;
  size_t n_left_ = 0;
};

struct Row {
  std::string kind;
  double ratio;
};

// One text of one model.
struct Task {
  Transformer& model;
  const Text& text;
  bool replay;
  double bound;
};

Row measure(const Task& task, const Options& options, Timetable& timetable) {
  const auto& [model, text, replay, bound] = task;
  timetable.next();
  std::vector<double> ratios, plain_rates, fast_rates;
  SpeculationStats stats;
  for (size_t pair = 0; pair < options.n_pairs && timetable.has_room(pair); ++pair) {
    fmt::print(stderr, "\r{} ({}) {}/{}   ", text.prompt.kind, text.prompt.text, pair + 1,
               options.n_pairs);
    // Which of the two comes first changes from pair to pair.
    const Mode order[] = {pair % 2 == 0 ? Mode::plain : Mode::speculative,
                          pair % 2 == 0 ? Mode::speculative : Mode::plain};
    double seconds[2] = {};
    for (Mode mode : order) {
      const Run run = decode(model, text, text.answer.size(), mode, replay, nullptr);
      if (run.answer != text.answer) {
        throw Error(ErrorKind::bad_request, "TextsDiffer", "speculative and plain text differ");
      }
      seconds[static_cast<size_t>(mode)] = run.seconds;
      if (mode == Mode::speculative) stats = run.stats;
    }
    const auto n_later = static_cast<double>(text.answer.size() - 1);
    plain_rates.push_back(n_later / seconds[0]);
    fast_rates.push_back(n_later / seconds[1]);
    ratios.push_back(seconds[0] / seconds[1]);
  }
  const auto [lowest, highest] = std::ranges::minmax(ratios);
  const double ratio = median(ratios);
  fmt::print(stderr, "\r{:60}\r", "");
  fmt::print(
      "| {:5} | {:16} | {:4} | {:5} | {:6.1f} | {:6.1f} | {:5.2f} | {:.2f} - {:.2f} | {:3.0f} % | "
      "{}/{} | {} | {} |\n",
      text.prompt.kind, text.prompt.text, text.answer.size(), ratios.size(), median(plain_rates),
      median(fast_rates), ratio, lowest, highest, 100 * ratio / bound, stats.accepted(),
      stats.drafted(), stats.verify_steps, stats.steps());
  std::fflush(stdout);
  return {text.prompt.kind, ratio};
}

void measure_model(const std::string& path,
                   Transformer& model,
                   const std::vector<Text>& texts,
                   const Options& options,
                   Timetable& timetable) {
  const bool replay = path != options.models.front();
  fmt::print("\n{}{}\n", path, replay ? ", replaying" : "");
  const double bound = print_bound(row_costs(model, options.n_pairs));
  fmt::print(
      "| kind  | text             |    n | pairs | plain  | guess  | ratio | min - max   | bound | "
      "right/guesses | verify | steps |\n"
      "|-------|------------------|-----:|------:|-------:|-------:|------:|-------------|------:|-"
      "-"
      "------------:|-------:|------:|\n");
  std::vector<Row> rows;
  for (const Text& text : texts) {
    rows.push_back(measure({model, text, replay, bound}, options, timetable));
  }
  for (const char* kind : {"copy", "edit", "prose"}) {
    std::vector<double> ratios;
    for (const Row& row : rows) {
      if (row.kind == kind) ratios.push_back(row.ratio);
    }
    if (ratios.empty()) continue;
    fmt::print("{}: median {:.2f} ({:.0f} % of the bound), lowest {:.2f}\n", kind, median(ratios),
               100 * median(ratios) / bound, std::ranges::min(ratios));
  }
}

std::vector<Text> speak(Transformer& model, const Tokenizer& tokenizer, const Options& options) {
  std::vector<Text> texts;
  for (const auto& [prompt, question] : prompts()) {
    if (!options.only.empty() && options.only != prompt.kind) continue;
    const std::string text = kOpening + question + "<|im_end|>\n<|im_start|>assistant\n";
    Text spoken{prompt, tokenizer.encode_with(text, {.specials = Tokenizer::Specials::parse}), {}};
    spoken.answer = decode(model, spoken, options.n_tokens, Mode::plain, false, &tokenizer).answer;
    texts.push_back(std::move(spoken));
  }
  return texts;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool takes = word.starts_with("--");
    if (takes && i + 1 == argc) {
      throw Error(ErrorKind::bad_request, "BadUsage", word + " needs a value");
    }
    if (word == "--pairs") {
      options.n_pairs = std::stoul(argv[++i]);
    } else if (word == "--seconds") {
      options.time = std::chrono::seconds(std::stol(argv[++i]));
    } else if (word == "--tokens") {
      options.n_tokens = std::stoul(argv[++i]);
    } else if (word == "--only") {
      options.only = argv[++i];
    } else {
      options.models.push_back(word);
    }
  }
  if (options.models.empty()) {
    throw Error(ErrorKind::bad_request, "BadUsage",
                "bench_speculation MODEL [OTHER_MODEL]... [--pairs N] [--seconds N] [--tokens N] "
                "[--only KIND]");
  }
  return options;
}

void run(const Options& options) {
  std::vector<Text> texts;
  Timetable timetable(options);
  for (size_t i = 0; i < options.models.size(); ++i) {
    const Model model = Model::load(options.models[i]);
    Transformer& transformer = model.parts().transformer;
    if (i == 0) {
      texts = speak(transformer, model.tokenizer(), options);
      timetable.expect(texts.size() * options.models.size());
    }
    measure_model(options.models[i], transformer, texts, options, timetable);
  }
}

}  // namespace
}  // namespace maglio

int main(int argc, char** argv) {
  try {
    maglio::run(maglio::parse(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_speculation: {}\n", error.what());
    return 1;
  }
  return 0;
}
