#include "maglio/oracles.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "decode/generate.h"
#include "maglio/logit_comparison.h"
#include "maglio/read_text.h"
#include "model/kv_cache.h"
#include "model/model.h"

namespace maglio::app {
namespace {

// Computes the tokens that the cache has not seen; the logits of the last one.
std::span<float> feed(Transformer& model, KvCache& cache, std::span<const TokenId> tokens) {
  return model.forward_step(cache, tokens.subspan(cache.length()), cache.length());
}

constexpr size_t kDefaultBenchGen = 128;

CacheType cache_type(const RunFlags& flags) {
  return flags.cache() == CacheFormat::f16 ? CacheType::f16 : CacheType::q8_0;
}

void write_logits(const std::string& path, std::span<const float> logits) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()),
            static_cast<std::streamsize>(logits.size_bytes()));
  out.close();
  if (!out) {
    throw Error(ErrorKind::io, "CannotWrite",
                fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  }
}

void print_comparison(const std::string& path, std::span<const float> logits) {
  const LogitComparison c = compare_logits(logits, parse_logits(read_text(path), path));
  fmt::print("max_abs {:.9g}\nmean_abs {:.9g}\nrms {:.9g}\ntop {}\nref_top {}\naligned {}\n",
             c.max_abs, c.mean_abs, c.rms, c.top, c.ref_top, c.aligned ? 1 : 0);
  if (c.top != c.ref_top) throw CLI::RuntimeError(1);
}

// Greedy decoding with the cache, and each step's logits once more without it.
void verify_cache(const Session& session, std::span<const TokenId> prompt, size_t n_tokens) {
  Transformer& model = session.model.parts().transformer;
  const CacheType type = cache_type(session.flags);
  KvCache cache = model.new_cache(session.context_size(), type);
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  Sampler greedy({}, model.kernels());
  size_t n_checked = 0;
  for (; n_checked < n_tokens && tokens.size() < cache.capacity(); ++n_checked) {
    const std::span<float> step = feed(model, cache, tokens);
    const std::vector<float> cached(step.begin(), step.end());
    std::span<float> whole = model.forward_last_logits(tokens, type);
    if (!std::equal(cached.begin(), cached.end(), whole.begin(), whole.end())) {
      fmt::print("token {} of {}: the logits after {} tokens differ\nFAIL\n", n_checked + 1,
                 n_tokens, tokens.size());
      throw CLI::RuntimeError(1);
    }
    tokens.push_back(greedy.next(whole, tokens));
  }
  fmt::print("{} tokens: equal bits with and without the cache\nPASS\n", n_checked);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Best and mean speed of the prompt and of decoding, greedy, after one run to warm up.
void bench(const Session& session, std::span<const TokenId> prompt, size_t n_runs) {
  Transformer& model = session.model.parts().transformer;
  const size_t n_gen = session.flags.gen.value_or(kDefaultBenchGen) > 0
                           ? static_cast<size_t>(session.flags.gen.value_or(kDefaultBenchGen))
                           : kDefaultBenchGen;
  std::vector<double> prompt_rates, decode_rates;
  for (size_t run = 0; run <= n_runs; ++run) {
    KvCache cache = model.new_cache(prompt.size() + n_gen + 1, cache_type(session.flags));
    Sampler greedy({}, model.kernels());
    std::vector<TokenId> tokens(prompt.begin(), prompt.end());
    auto start = std::chrono::steady_clock::now();
    std::span<float> logits = feed(model, cache, prompt);
    const double prompt_s = seconds_since(start);
    start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < n_gen; ++i) {
      tokens.push_back(greedy.next(logits, tokens));
      logits = feed(model, cache, tokens);
    }
    if (run == 0) continue;
    prompt_rates.push_back(static_cast<double>(prompt.size()) / prompt_s);
    decode_rates.push_back(static_cast<double>(n_gen) / seconds_since(start));
  }
  const auto print = [&](const char* name, size_t n, const std::vector<double>& rates) {
    const double mean =
        std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
    fmt::print("{} {} tokens: best {:.2f} tok/s, mean {:.2f} tok/s over {} runs\n", name, n,
               *std::max_element(rates.begin(), rates.end()), mean, rates.size());
  };
  print("prefill", prompt.size(), prompt_rates);
  print("decode", n_gen, decode_rates);
}

}  // namespace

void run_oracles(const Session& session, std::span<const TokenId> prompt) {
  const RunFlags& flags = session.flags;
  if (flags.logits_out || flags.compare_logits) {
    Transformer& model = session.model.parts().transformer;
    KvCache cache =
        model.new_cache(std::max(session.context_size(), prompt.size()), cache_type(flags));
    const std::span<float> logits = feed(model, cache, prompt);
    if (flags.logits_out) write_logits(*flags.logits_out, logits);
    if (flags.compare_logits) print_comparison(*flags.compare_logits, logits);
  }
  if (flags.verify_cache) verify_cache(session, prompt, *flags.verify_cache);
  if (flags.bench) bench(session, prompt, *flags.bench);
}

}  // namespace maglio::app
