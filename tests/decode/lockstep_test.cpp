#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "decode/generate.h"
#include "support/function_model.h"
#include "support/loaded_model.h"
#include "support/scripted_model.h"

namespace maglio {
namespace {

using Ids = std::vector<TokenId>;
using test::FunctionModel;
using test::ScriptedCache;
using test::ScriptedModel;

constexpr size_t kVocab = 50;
constexpr TokenId kEnd = 49;
constexpr TokenId kPoison = 48;  // behind it the logits are NaN
constexpr TokenId kThrows = 47;  // behind it a forward throws

// Scores that depend on the last three tokens, so that streams differ and sampling has a choice.
void score(std::span<const TokenId> past, std::span<float> logits) {
  size_t state = 17;
  for (TokenId id : past.last(std::min<size_t>(3, past.size()))) {
    state = (state * 31 + static_cast<size_t>(id)) % 1009;
    if (id == kThrows) throw Error(ErrorKind::io, "Broken", "a pass fails");
  }
  for (size_t i = 0; i < kPoison - 1; ++i) {
    logits[i] = static_cast<float>((state * (i + 7) * (i + 3)) % 101) / 12;
  }
  for (TokenId id : {kEnd, kPoison, kThrows}) logits[static_cast<size_t>(id)] = -50;
  if (past.back() == kPoison) logits[5] = std::numeric_limits<float>::quiet_NaN();
}

// A stream and all that it borrows.
template <class Model>
struct Voice {
  Voice(Model& m, Ids prompt, size_t max, SamplerConfig config = {}, size_t capacity = 100)
      : model(m),
        cache(m.new_cache(capacity)),
        tokens(std::move(prompt)),
        sampler(config, m.kernels()),
        max_tokens(max) {}

  Stream<Model> stream() {
    return {{model, cache, tokens, sampler}, max_tokens, [this](TokenId id) { return ask(id); }};
  }

  Model& model;
  CacheOf<Model> cache;
  Ids tokens;
  Sampler sampler;
  size_t max_tokens;
  std::function<Verdict(TokenId)> ask = [](TokenId) { return Verdict::go_on; };
};

std::string code_of(const Ending& ending) {
  if (!ending.error) return "";
  try {
    std::rethrow_exception(ending.error);
  } catch (const Error& error) {
    return error.code();
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <class Model>
std::vector<Ending> together(std::deque<Voice<Model>>& voices) {
  std::vector<Stream<Model>> streams;
  for (Voice<Model>& voice : voices) streams.push_back(voice.stream());
  return generate_together<Model>(streams);
}

TEST(Lockstep, StreamsOfOneModelShareEveryPass) {
  FunctionModel model(kVocab, score);
  std::deque<Voice<FunctionModel>> voices;
  voices.emplace_back(model, Ids{1, 2, 3}, 2);
  voices.emplace_back(model, Ids{4}, 3);
  const auto endings = together(voices);
  EXPECT_EQ(endings[0].finish, FinishReason::length);
  ASSERT_EQ(model.passes.size(), 3u);
  EXPECT_EQ(model.passes[0], (std::vector<Ids>{{1, 2, 3}, {4}}));
  EXPECT_EQ(model.passes[1].size(), 2u);
  EXPECT_EQ(model.passes[2].size(), 1u) << "the first has ended";
}

TEST(Lockstep, EachStreamSaysWhatItSaysAlone) {
  FunctionModel model(kVocab, score);
  const auto voices_of = [&] {
    std::deque<Voice<FunctionModel>> voices;
    for (uint64_t i = 0; i < 8; ++i) {
      voices.emplace_back(model, Ids(1 + i, static_cast<TokenId>(i)), 5 + 3 * i,
                          SamplerConfig{.temperature = i % 2 == 0 ? 0.0f : 0.9f,
                                        .repeat_penalty = i % 3 == 0 ? 1.3f : 1.0f,
                                        .seed = i});
    }
    return voices;
  };
  auto shared = voices_of(), alone = voices_of();
  together(shared);
  for (size_t i = 0; i < alone.size(); ++i) {
    generate(alone[i].stream());
    EXPECT_EQ(shared[i].tokens, alone[i].tokens) << i;
    EXPECT_EQ(shared[i].cache.length(), alone[i].cache.length()) << i;
  }
}

TEST(Lockstep, EightStreamsOfATransformerEqualThemselvesAlone) {
  for (const auto architecture :
       {Architecture::qwen3, Architecture::qwen3moe, Architecture::qwen2moe}) {
    test::LoadedModel loaded({.config = test::tiny_config(architecture)});
    Transformer& model = loaded.transformer;
    std::deque<Voice<Transformer>> shared, alone;
    for (auto* voices : {&shared, &alone}) {
      for (uint64_t i = 0; i < 8; ++i) {
        voices->emplace_back(model, test::random_prompt(3 + 20 * i, 320, i), 24,
                             SamplerConfig{.temperature = i % 2 == 0 ? 0.0f : 0.8f, .seed = i},
                             300);
      }
    }
    together(shared);
    for (size_t i = 0; i < alone.size(); ++i) {
      generate(alone[i].stream());
      EXPECT_EQ(shared[i].tokens, alone[i].tokens) << i;
    }
  }
}

TEST(Lockstep, AnErrorEndsItsStreamAloneAndTheOthersSayWhatTheySay) {
  FunctionModel model(kVocab, score);
  Voice<FunctionModel> healthy(model, {1, 2}, 12);
  generate(healthy.stream());
  struct NoToken : Constraint {
    void mask(std::span<float> logits) override {
      std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
    }
    void accept(TokenId) override {}
  } no_token;

  std::deque<Voice<FunctionModel>> voices;
  voices.emplace_back(model, Ids{1, 2}, 12);
  voices.emplace_back(model, Ids{3, kPoison}, 12);  // the sampler refuses
  voices.emplace_back(model, Ids{4, kThrows}, 12);  // the pass fails
  voices.emplace_back(model, Ids(100, 1), 12);      // no room
  voices.emplace_back(model, Ids{5}, 12);           // the constraint
  voices.emplace_back(model, Ids{6}, 12);           // the client
  voices.back().ask = [n = 0](TokenId) mutable {
    if (++n == 3) throw std::runtime_error("client gone");
    return Verdict::go_on;
  };
  std::vector<Stream<FunctionModel>> streams;
  for (auto& voice : voices) streams.push_back(voice.stream());
  streams[4].sequence.constraint = &no_token;
  const auto endings = generate_together<FunctionModel>(streams);

  EXPECT_EQ(code_of(endings[0]), "");
  EXPECT_EQ(voices[0].tokens, healthy.tokens);
  EXPECT_EQ(code_of(endings[1]), "NonFiniteLogits");
  EXPECT_EQ(code_of(endings[2]), "Broken");
  EXPECT_EQ(voices[2].cache.length(), 0u) << "as it was";
  EXPECT_EQ(code_of(endings[3]), "ContextFull");
  EXPECT_EQ(code_of(endings[4]), "AllTokensMasked");
  EXPECT_EQ(code_of(endings[5]), "client gone");
  EXPECT_EQ(voices[5].tokens.size(), 3u) << "what was kept stays";
}

TEST(Lockstep, AGuesserThatFailsEndsItsStreamAlone) {
  struct Broken final : Drafter {
    Draft propose(std::span<const TokenId>, const Constraint*, size_t) override {
      throw Error(ErrorKind::bad_request, "NoGuess", "it fails");
    }
    void learn(TokenId, std::span<const float>) override {}
    void observe(std::span<const TokenId>, size_t) override {}
  } broken;
  FunctionModel model(kVocab, score);
  std::deque<Voice<FunctionModel>> voices, alone;
  for (auto* all : {&voices, &alone}) {
    all->emplace_back(model, Ids{4}, 5);
    all->emplace_back(model, Ids{1, 2, 3}, 5);
  }
  std::vector<Stream<FunctionModel>> streams{voices[0].stream(), voices[1].stream()};
  streams[0].sequence.drafter = &broken;
  const auto endings = generate_together<FunctionModel>(streams);
  EXPECT_EQ(code_of(endings[0]), "NoGuess");
  EXPECT_EQ(voices[0].tokens, Ids{4});
  EXPECT_EQ(code_of(endings[1]), "");
  generate(alone[1].stream());
  EXPECT_EQ(voices[1].tokens, alone[1].tokens);
}

TEST(Lockstep, APoolThatIsExhaustedEndsTheStreamThatAskedLast) {
  test::LoadedModel loaded({.config = test::tiny_config(Architecture::qwen3)});
  Transformer& model = loaded.transformer;
  const Config& c = model.config();
  const KvShape shape{c.n_layers, c.n_kv_heads, c.head_dim};
  const size_t block_bytes = [&] {
    KvCache probe = model.new_cache(64);
    model.forward_step(probe, Ids{1}, 0);
    return probe.bytes();
  }();
  const auto decode = [&](size_t n_streams) {
    KvPool pool(3 * block_bytes);  // both prompts, and one page more
    std::deque<KvCache> caches;
    std::deque<Sampler> samplers;
    std::deque<Ids> tokens;
    std::vector<Stream<Transformer>> streams;
    for (size_t i = 0; i < n_streams; ++i) {
      caches.emplace_back(shape, CacheType::f16, 300, model.kernels(), pool);
      samplers.emplace_back(SamplerConfig{}, model.kernels());
      tokens.push_back(test::random_prompt(60, 320, i));
      streams.push_back(
          {{model, caches[i], tokens[i], samplers[i]}, 20, [](TokenId) { return Verdict::go_on; }});
    }
    const auto endings = generate_together<Transformer>(streams);
    return std::pair(endings, tokens);
  };
  const auto [endings, tokens] = decode(2);
  EXPECT_EQ(code_of(endings[0]), "");
  EXPECT_EQ(tokens[0], decode(1).second[0]);
  EXPECT_EQ(code_of(endings[1]), "KvPoolExhausted");
  EXPECT_EQ(tokens[1].size(), 65u) << "all that the page could hold, and the token after";
}

TEST(Lockstep, ZeroTokensReadsThePromptAndNothingElse) {
  FunctionModel model(kVocab, score);
  std::deque<Voice<FunctionModel>> voices;
  voices.emplace_back(model, Ids{1, 2, 3}, 0);
  voices.emplace_back(model, Ids{1, 2, 3}, 1);
  const auto endings = together(voices);
  EXPECT_EQ(voices[0].tokens, (Ids{1, 2, 3}));
  EXPECT_EQ(voices[0].cache.length(), 3u);
  EXPECT_EQ(endings[0].finish, FinishReason::length);
  EXPECT_EQ(voices[1].tokens.size(), 4u);
}

TEST(Lockstep, RefusesWhatCannotShareAPass) {
  const auto code = [](auto& streams) {
    using Model = std::remove_reference_t<decltype(streams[0].sequence.model)>;
    try {
      generate_together<Model>(std::span(streams));
      return std::string();
    } catch (const Error& error) {
      return error.code();
    }
  };
  FunctionModel model(kVocab, score), other(kVocab, score);
  Voice<FunctionModel> a(model, {1}, 3), b(other, {1}, 3);
  std::vector<Stream<FunctionModel>> mixed = {a.stream(), b.stream()};
  EXPECT_EQ(code(mixed), "MixedModels");
  std::vector<Stream<FunctionModel>> twice = {a.stream(), a.stream()};
  EXPECT_EQ(code(twice), "DuplicateStream");

  ScriptedModel single(kVocab, {1});
  Voice<ScriptedModel> c(single, {1}, 3), d(single, {1}, 3);
  std::vector<Stream<ScriptedModel>> unsupported = {c.stream(), d.stream()};
  EXPECT_EQ(code(unsupported), "BatchDecodeUnsupported");
  EXPECT_TRUE(single.calls.empty());
  std::vector<Stream<ScriptedModel>> one = {c.stream()};
  EXPECT_EQ(code(one), "");
  std::vector<Stream<ScriptedModel>> none;
  EXPECT_EQ(code(none), "");
}

}  // namespace
}  // namespace maglio
