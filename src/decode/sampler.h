// From logits to a token (section 12.6).
//
// The steps, always in this order:
//   1. constraint    what may not come next is masked with -infinity
//   2. penalties     tokens of the recent past lose:  l > 0 ? l / repeat : l * repeat, then
//                    l - count * frequency - presence; once per distinct token (llama.cpp)
//   3. greedy        temperature <= 0: the best logit, on a tie the lowest id; no random number
//   4. top-k         the k best logits
//   5. softmax       p_i = exp((l_i - max) / temperature) / sum
//   6. top-p         the smallest best set with p_1 + ... + p_n >= top_p (Holtzman et al. 2020)
//   7. min-p         those with p_i >= min_p * p_1 (Nguyen et al. 2024)
//   8. draw          one random number, whatever is left
//
// Temperature comes before top-p and min-p (as in Hugging Face and vLLM); llama.cpp truncates
// first. Probabilities are integers, p_i * 2^40 rounded down with p_1 as the unit, so a sum does
// not depend on the order of its terms, and nothing needs sorting to be exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "decode/candidates.h"
#include "kernels/kernels.h"
#include "maglio/constraint.h"
#include "maglio/generation.h"

namespace maglio {

// Same configuration, same logits, same history: same tokens, on every machine. One random number
// is drawn per call of next, none when greedy. Not thread-safe.
class Sampler {
 public:
  // Throws: Error bad_request "BadSamplerConfig" for a knob that is NaN, infinite or out of range.
  Sampler(const SamplerConfig& config, const Kernels& kernels);

  // The next token. The logits are consumed: masks and penalties are applied in place.
  //   logits: [vocab]   history: every token so far, prompt included, newest last
  // Throws: Error bad_file "NonFiniteLogits" when a logit is NaN or +infinity (then nothing was
  // drawn and nothing accepted), bad_request "AllTokensMasked" when all are -infinity.
  TokenId next(std::span<float> logits,
               std::span<const TokenId> history,
               Constraint* constraint = nullptr);

  const SamplerConfig& config() const { return config_; }
  // Where the random numbers are: what makes a saved conversation go on as if it had not stopped.
  const Random::State& random_state() const { return random_.state(); }
  void resume(const Random::State& state) { random_ = Random(state); }

 private:
  void apply_penalties(std::span<float> logits, std::span<const TokenId> history);
  void weigh_candidates();
  void cut_top_p();
  void cut_min_p();
  TokenId draw();

  SamplerConfig config_;
  const Kernels* kernels_;
  Random random_;
  uint64_t total_weight_ = 0;  // of candidates_
  Levels levels_;              // of their logits
  // Scratch, kept to spare allocations.
  std::vector<Candidate> candidates_;
  std::vector<float> exponentials_;
  std::vector<uint32_t> counts_;  // [vocab], zero between calls
  std::vector<TokenId> distinct_;
};

}  // namespace maglio
