// What the loop and the conversation ask of a model: less than a Transformer is, so that a scripted
// model can stand in for one (tests/support/scripted_model.h).
//
// forward_step_all_logits is required although plain decoding never calls it: it is what lets
// drafted tokens be checked, and a model that cannot do it is no model for a conversation.
// forward, which serves several sequences at once, is optional; what needs it asks for a
// BatchLanguageModel.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "kernels/kernels.h"
#include "maglio/error.h"
#include "maglio/tokenizer.h"
#include "model/batch.h"

namespace maglio {

template <class Model>
using CacheOf = decltype(std::declval<const Model&>().new_cache(size_t{}, CacheType{}));

template <class Model>
concept LanguageModel = requires(Model& model,
                                 const Model& fixed,
                                 CacheOf<Model>& cache,
                                 std::span<const TokenId> ids,
                                 size_t n) {
  { fixed.kernels() } -> std::convertible_to<const Kernels&>;
  { cache.length() } -> std::convertible_to<size_t>;
  { cache.capacity() } -> std::convertible_to<size_t>;
  cache.truncate(n);
  // Logits of the last id; the ids stand at positions n, n + 1, ...; n is the cache's length.
  { model.forward_step(cache, ids, n) } -> std::same_as<std::span<float>>;
  { model.forward_step_all_logits(cache, ids, n) } -> std::same_as<Logits>;
};

template <class Model>
concept BatchLanguageModel =
    LanguageModel<Model> && requires(Model& model, std::span<const SpanOf<CacheOf<Model>>> batch) {
      { model.forward(batch) } -> std::same_as<Logits>;
    };

// One pass over the spans: the rows of logits that they want, in span order.
// Throws: Error unsupported "BatchDecodeUnsupported" for several spans where the model takes one at
// a time; what the model throws, with every cache as it was.
template <LanguageModel Model>
Logits forward(Model& model, std::span<const SpanOf<CacheOf<Model>>> batch) {
  if constexpr (BatchLanguageModel<Model>) {
    return model.forward(batch);
  } else {
    if (batch.size() != 1) {
      throw Error(ErrorKind::unsupported, "BatchDecodeUnsupported",
                  "this model computes one sequence at a time: decode the streams one by one");
    }
    const auto& [cache, position, ids, rows] = batch[0];
    if (rows == LogitRows::all) return model.forward_step_all_logits(*cache, ids, position);
    const std::span<float> last = model.forward_step(*cache, ids, position);
    return Logits(last.data(), {1, last.size()});
  }
}

}  // namespace maglio
