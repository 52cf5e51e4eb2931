#include "decode/gate.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "decode/chances.h"
#include "decode/generate.h"
#include "decode/speculation.h"
#include "support/function_model.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using std::chrono::nanoseconds;
using test::FunctionModel;
using test::ScriptedCache;

// A clock that moves as a pass of so many rows would take.
struct FakeMachine {
  std::function<double(size_t n_rows)> cost;  // in passes of one row
  nanoseconds now{0};

  Gate gate() {
    return Gate([this] { return now; });
  }
  void pass(size_t n_rows) { now += nanoseconds(static_cast<int64_t>(1e6 * cost(n_rows))); }
};

double flat(size_t) {
  return 1;
}
double steep(size_t n_rows) {
  return static_cast<double>(n_rows);
}

Draft draft(std::vector<float> chances) {
  return {Ids(chances.size(), 1), std::move(chances)};
}

// Teaches the gate what the machine takes for each number of rows.
void teach(Gate& gate, FakeMachine& machine, size_t max_rows) {
  for (size_t n = 1; n <= max_rows; ++n) {
    gate.start();
    machine.pass(n);
    gate.stop(n);
  }
}

size_t choose_one(Gate& gate, const Draft& d) {
  const Draft* const drafts[] = {&d};
  return gate.choose(drafts)[0];
}

TEST(Gate, TakesGuessesAsFarAsTheyPay) {
  FakeMachine machine{[](size_t n) { return 1 + 0.25 * static_cast<double>(n - 1); }};
  Gate gate = machine.gate();
  teach(gate, machine, 16);
  EXPECT_EQ(choose_one(gate, draft({0.2f})), 0u) << "1.2 tokens in 1.25";
  EXPECT_EQ(choose_one(gate, draft({0.3f})), 0u) << "1.3 in 1.25: too close";
  EXPECT_EQ(choose_one(gate, draft({0.35f})), 1u) << "1.35 in 1.25";
  EXPECT_EQ(choose_one(gate, draft({0.9f, 0.9f, 0.1f, 0.9f})), 2u) << "1 + .9 + .81 in 1.5";
  EXPECT_EQ(choose_one(gate, draft(std::vector<float>(15, 1.0f))), 15u);
  EXPECT_EQ(choose_one(gate, draft({})), 0u);
}

TEST(Gate, AStepInTheCostsCanBeWorthClimbingOver) {
  // The fifth row is dear and the next three are free: a tile of four.
  FakeMachine machine{[](size_t n) { return n <= 4 ? 1.0 : 2.0; }};
  Gate gate = machine.gate();
  teach(gate, machine, 16);
  EXPECT_EQ(choose_one(gate, draft({0.5f, 0.5f, 0.5f, 0.5f, 0.5f})), 3u);
  EXPECT_EQ(choose_one(gate, draft(std::vector<float>(9, 1.0f))), 9u) << "10 in 2, not 4 in 1";
}

TEST(Gate, ABatchLeavesItsRowsToTheLikeliestGuesses) {
  // Free up to eight rows, dear beyond.
  FakeMachine machine{[](size_t n) { return n <= 8 ? 1.0 : static_cast<double>(n); }};
  Gate gate = machine.gate();
  teach(gate, machine, 64);
  const Draft weak = draft({0.3f, 0.3f}), strong = draft({0.9f, 0.9f, 0.9f, 0.9f});
  const Draft* const two[] = {&weak, &strong};
  EXPECT_EQ(gate.choose(two), (std::vector<size_t>{2, 4}));
  const Draft* const five[] = {&weak, &strong, &weak, &weak, &weak};
  EXPECT_EQ(gate.choose(five), (std::vector<size_t>{0, 3, 0, 0, 0})) << "three rows are left";
  const std::vector<const Draft*> eight(8, &strong);
  const auto chosen = gate.choose(eight);
  EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), size_t{0}), 0u) << "the batch is full";
  const std::vector<const Draft*> many(100, &strong);
  EXPECT_EQ(gate.choose(many), std::vector<size_t>(100, 0));
}

TEST(Gate, OffItTriesAgainLessAndLessOften) {
  FakeMachine machine{steep};
  Gate gate = machine.gate();
  teach(gate, machine, 16);
  const Draft d = draft({0.6f, 0.6f});
  std::vector<size_t> tried;
  for (size_t step = 1; step <= 4000; ++step) {
    const size_t n = choose_one(gate, d);
    if (n > 0) tried.push_back(step);
    gate.start();
    machine.pass(1 + n);
    gate.stop(1 + n);
  }
  EXPECT_EQ(tried, (std::vector<size_t>{128, 384, 896, 1920, 2944, 3968}));
  machine.cost = flat;  // the machine has changed: the next trial shows it
  size_t n_on = 0;
  for (size_t step = 0; step < 3000; ++step) {
    const size_t n = choose_one(gate, d);
    n_on += n > 0 ? 1 : 0;
    gate.start();
    machine.pass(1 + n);
    gate.stop(1 + n);
  }
  EXPECT_GT(n_on, 1000u);
}

TEST(StepTimes, SizesBetweenAndBeyondTheTriedOnesAreEstimated) {
  StepTimes times;
  EXPECT_DOUBLE_EQ(times.estimate(11) / times.estimate(1), 2.0) << "hopeful";
  times.measured(1, nanoseconds(1000));
  EXPECT_DOUBLE_EQ(times.estimate(1), 1000);
  EXPECT_DOUBLE_EQ(times.estimate(11), 2000);
  times.measured(5, nanoseconds(3000));
  EXPECT_DOUBLE_EQ(times.estimate(2), 1500);
  EXPECT_DOUBLE_EQ(times.estimate(4), 2500);
  EXPECT_DOUBLE_EQ(times.estimate(15), 3000 * 2.4 / 1.4);
}

// A machine at half its speed is so for passes of every size.
TEST(StepTimes, OneSizeThatSlowsDownSlowsDownTheOthers) {
  StepTimes times;
  times.measured(1, nanoseconds(1000));
  times.measured(8, nanoseconds(3000));
  for (int i = 0; i < 60; ++i) times.measured(1, nanoseconds(2000));
  EXPECT_NEAR(times.estimate(1), 2000, 20);
  EXPECT_GT(times.estimate(8), 4500);
  EXPECT_LT(times.estimate(8), 6100);
}

TEST(StepTimes, OneInterruptedPassChangesLittle) {
  StepTimes times;
  for (size_t n : {1u, 4u}) times.measured(n, nanoseconds(1000));
  times.measured(4, nanoseconds(1'000'000));
  EXPECT_LT(times.estimate(4), 1400);
}

TEST(Chances, FollowWhatComesTrue) {
  Chances chances;
  EXPECT_EQ(chances.of(DraftSource::forced, 0), 1);
  EXPECT_LT(chances.of(DraftSource::conversation, 1), chances.of(DraftSource::conversation, 30));
  for (int i = 0; i < 100; ++i) chances.learn(DraftSource::conversation, 30, false);
  EXPECT_LT(chances.of(DraftSource::conversation, 30), 0.1f);
  EXPECT_GT(chances.of(DraftSource::reference, 30), 0.9f) << "sources are trusted apart";
  EXPECT_GT(chances.of(DraftSource::conversation, 8), 0.7f) << "lengths nearly so";
  for (int i = 0; i < 100; ++i) chances.learn(DraftSource::conversation, 30, true);
  EXPECT_GT(chances.of(DraftSource::conversation, 30), 0.9f) << "and again";
}

TEST(Chances, ATextThatIsACopyShowsItBeforeItsMatchesAreLong) {
  Chances chances;
  const float before = chances.of(DraftSource::conversation, 20);
  for (size_t match : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
    chances.learn(DraftSource::conversation, match, true);
  }
  EXPECT_LT(1 - chances.of(DraftSource::conversation, 20), (1 - before) / 2);
  EXPECT_LT(chances.of(DraftSource::conversation, 1), 0.3f) << "one equal token is still chance";
  chances.learn(DraftSource::conversation, 20, false);
  EXPECT_GT(chances.of(DraftSource::conversation, 6), 0.7f) << "the end of a copy is no more";
}

// A whole run: tokens, and what the machine has taken for them.
struct Journey {
  Ids tokens;
  double passes = 0;
  SpeculationStats stats;
};

constexpr size_t kVocab = 60;

Journey travel(const std::function<TokenId(std::span<const TokenId>)>& next,
               std::function<double(size_t)> cost,
               bool speculate,
               size_t n_tokens = 3000) {
  FakeMachine machine{std::move(cost)};
  FunctionModel model(kVocab, [&](std::span<const TokenId> past, std::span<float> logits) {
    logits[static_cast<size_t>(next(past))] = 9;
  });
  // Time passes between the two calls of the clock, as long as the rows take.
  struct Timed : FunctionModel {
    Timed(FunctionModel m, FakeMachine& machine)
        : FunctionModel(std::move(m)), machine_(&machine) {}
    Logits forward(std::span<const SpanOf<ScriptedCache>> batch) {
      const Logits logits = FunctionModel::forward(batch);
      machine_->pass(logits.extent<Row>());
      return logits;
    }
    FakeMachine* machine_;
  } timed(std::move(model), machine);
  ScriptedCache cache = timed.new_cache(n_tokens + 10);
  Journey result{.tokens = {1}, .stats = {}};
  Sampler sampler({}, timed.kernels());
  Speculation speculation(timed.kernels());
  Gate gate = machine.gate();
  generate(Sequence<Timed>{timed, cache, result.tokens, sampler, nullptr,
                           speculate ? &speculation : nullptr, speculate ? &gate : nullptr},
           n_tokens, [](TokenId) { return Verdict::go_on; });
  result.passes = static_cast<double>(machine.now.count()) / 1e6;
  result.stats = speculation.stats();
  return result;
}

// Never twice the same: no guess is better than chance.
TokenId unpredictable(std::span<const TokenId> past) {
  uint64_t x = past.size() * 0x9E3779B97F4A7C15u;
  x ^= x >> 29, x *= 0xBF58476D1CE4E5B9u, x ^= x >> 32;
  return static_cast<TokenId>(x % kVocab);
}
TokenId periodic(std::span<const TokenId> past) {
  return static_cast<TokenId>(past.size() * past.size() % 50 % kVocab);
}
// A page of one, a page of the other.
TokenId changing(std::span<const TokenId> past) {
  return past.size() / 300 % 2 == 0 ? unpredictable(past) : periodic(past);
}

double gentle(size_t n_rows) {
  return 1 + 0.2 * static_cast<double>(n_rows - 1);
}

TEST(GatedSpeculation, LosesNothingWhereNothingRepeats) {
  for (double (*cost)(size_t) : {gentle, steep}) {
    const Journey plain = travel(unpredictable, cost, false),
                  guessed = travel(unpredictable, cost, true);
    EXPECT_EQ(guessed.tokens, plain.tokens);
    EXPECT_LT(guessed.passes, 1.02 * plain.passes);
    EXPECT_GT(guessed.stats.gated_off, 1000u) << "guesses there were";
  }
}

TEST(GatedSpeculation, WinsWhatTheMachineAllowsWhereTextRepeats) {
  const Journey plain = travel(periodic, gentle, false), guessed = travel(periodic, gentle, true);
  EXPECT_EQ(guessed.tokens, plain.tokens);
  const double bound = 16 / gentle(16);
  EXPECT_GT(plain.passes / guessed.passes, 0.9 * bound);
  EXPECT_GT(guessed.stats.bonus, 100u);
}

TEST(GatedSpeculation, StaysOffOnAMachineWhereRowsCostWhatPassesCost) {
  const Journey plain = travel(periodic, steep, false), guessed = travel(periodic, steep, true);
  EXPECT_EQ(guessed.tokens, plain.tokens);
  EXPECT_LT(guessed.passes, 1.02 * plain.passes);
}

TEST(GatedSpeculation, TurnsItselfOnAndOffAsTheTextChanges) {
  const Journey plain = travel(changing, gentle, false), guessed = travel(changing, gentle, true);
  EXPECT_EQ(guessed.tokens, plain.tokens);
  EXPECT_GT(plain.passes / guessed.passes, 1.4) << "half the text comes three times as fast";
  EXPECT_LT(guessed.stats.drafted(), 1.3 * static_cast<double>(guessed.stats.accepted()))
      << "few in vain";
}

}  // namespace
}  // namespace maglio
