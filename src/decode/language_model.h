// What the loop and the conversation ask of a model: less than a Transformer is, so that a scripted
// model can stand in for one (tests/support/scripted_model.h).
//
// forward_step_all_logits is required although plain decoding never calls it: it is what lets
// drafted tokens be checked, and a model that cannot do it is no model for a conversation.
// forward_step_batch is optional; what needs it asks for a BatchLanguageModel.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "kernels/kernels.h"
#include "maglio/tokenizer.h"

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
  model.forward_step_all_logits(cache, ids, n);
};

template <class Model>
concept BatchLanguageModel =
    LanguageModel<Model> &&
    requires(Model& model, std::span<CacheOf<Model>* const> caches, std::span<const TokenId> ids) {
      model.forward_step_batch(caches, ids);
    };

}  // namespace maglio
