// What a model has to do for its tokens, counted from its file: multiply-adds, and bytes read.
//
// A row of activations passes every matrix of the layers: one multiply-add for each weight. In the
// last layer only the rows whose logits somebody wants go on after their keys and values are kept,
// and only they pass the head. Attention adds 2 * n_heads * head_dim multiply-adds for each key
// that a row sees, in f32. Decoding reads each packed matrix once a step, whatever the number of
// streams, and the keys and values of every stream. A row passes only the experts that its tokens
// were sent to, and a step reads those that any stream uses. What is left out is below a
// thousandth: norms, RoPE, activation functions, rows of the embedding, what is written to the
// cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "maglio/bench_limits.h"
#include "maglio/bench_plan.h"
#include "model/config.h"

namespace maglio::gguf {
class File;
}

namespace maglio::app {

using MacCounts = std::array<uint64_t, kActivationClasses>;  // by activation class

struct Work {
  MacCounts macs{};
  uint64_t bytes = 0;  // of weights and caches; counted for decoding only

  uint64_t total_macs() const;
  Work& operator+=(const Work& other);
  Work& operator*=(uint64_t n);
};

// Seconds that the work takes at the limits: multiplying and reading go on at the same time, so a
// step takes at least the longer of the two.
double seconds_of_macs(const MacCounts& macs, const MachineLimits& limits);
double seconds_of_reading(uint64_t bytes, const MachineLimits& limits);

class ModelWork {
 public:
  // Of matrices as they are resident (Transformer).
  struct Bytes {
    uint64_t all = 0;
    uint64_t experts = 0;
  };
  // Throws: Error bad_file "MissingTensor".
  ModelWork(const gguf::File& file, const Config& config, const Kernels& kernels, Bytes bytes);

  // A span of n_rows tokens behind `position` others, with the logits of the last one: its
  // multiply-adds. No bytes: how often a long span reads the weights depends on the tiles.
  Work prompt(size_t position, size_t n_rows) const;

  // One token for each of n_streams sequences, behind `position` others each, in one step.
  // kv_bytes: of keys and values, a position.
  Work step(size_t position, size_t n_streams, size_t kv_bytes) const;

 private:
  uint64_t attention_macs(size_t position, size_t n_rows) const;
  uint64_t expert_bytes(size_t n_streams) const;

  Config config_;
  MacCounts every_row_{};   // all layers but the end of the last one
  MacCounts wanted_row_{};  // the end of the last layer, and the head
  Bytes bytes_;
};

// One sample of the test. kv_bytes: of keys and values, a position, in the test's cache type.
Work work_of(const BenchTest& test, const ModelWork& model, size_t kv_bytes);

}  // namespace maglio::app
