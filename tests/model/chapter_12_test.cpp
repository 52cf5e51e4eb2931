// Statements of the chapter's sections 12.1, 12.3 and 12.4 that no other test pins
// (docs/coverage.md).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "support/loaded_model.h"

namespace maglio {
namespace {

using test::all_logits;
using test::LoadedModel;
using test::random_prompt;
using test::Rows;
using test::SyntheticModel;

// Far above an f16 cache's rounding, far below what a wrong formula gives.
constexpr double kBound = 2e-3;

Config tiny() {
  return test::tiny_config(Architecture::qwen3);
}

// The largest error of a row of logits against the plain double-precision pass.
double error_of(const SyntheticModel& file) {
  LoadedModel model(file);
  const auto prompt = random_prompt(20, model.transformer.config().vocab_size);
  const Rows rows = all_logits(model.transformer, prompt, prompt.size());
  const test::Matrix reference = test::reference_logits(model.file(), prompt);
  double worst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    worst = std::max(worst, test::relative_error(rows[i], reference[i]));
  }
  return worst;
}

// Overwrites a tensor of a file that was made here with zeros, which is zero in every format.
void erase_tensor(test::Bytes& file, const std::string& name) {
  const gguf::File parsed = gguf::File::parse(file);
  const auto data = parsed.require(name).data;
  std::memset(file.data() + (data.data() - file.data()), 0, data.size());
}

// A row of an F32 matrix in a file.
std::span<const float> float_row(const gguf::File& file, const std::string& name, size_t row) {
  const gguf::TensorInfo& tensor = file.require(name);
  const size_t n = tensor.dims[0];
  return {reinterpret_cast<const float*>(tensor.data.data()) + row * n, n};
}

TEST(ConfigChapter, KeysOfAnotherFamilyAreNotTaken) {
  test::GgufBuilder builder = SyntheticModel{.config = tiny()}.builder();
  builder.u32("llama.block_count", 7).f32("llama.rope.freq_base", 5.0f).u32("block_count", 9);
  const test::Bytes bytes = builder.bytes();
  const Config config = Config::from_gguf(gguf::File::parse(bytes));
  EXPECT_EQ(config.n_layers, tiny().n_layers);
  EXPECT_EQ(config.rope_base, tiny().rope_base);
}

TEST(ModelChapter, ScoresAreAsManyAsTheEmbeddingHasRows) {
  Config c = tiny();
  c.vocab_size = 331;  // no multiple of anything
  LoadedModel model({.config = c});
  EXPECT_EQ(model.transformer.config().vocab_size, 331u);
  EXPECT_EQ(model.transformer.forward_last_logits(random_prompt(3, 331)).size(), 331u);
  EXPECT_LT(error_of({.config = c}), kBound);
}

TEST(ModelChapter, AnyNumberOfLayersMeetsTheReference) {
  for (const size_t n_layers : {1, 2, 5}) {
    Config c = tiny();
    c.n_layers = n_layers;
    EXPECT_LT(error_of({.config = c}), kBound) << n_layers;
  }
}

TEST(ModelChapter, EpsAndBaseAreTheFiles) {
  Config c = tiny();
  c.norm_eps = 0.3f;
  EXPECT_LT(error_of({.config = c}), kBound);
  c.norm_eps = tiny().norm_eps;
  c.rope_base = 7;
  EXPECT_LT(error_of({.config = c}), kBound);
}

TEST(ModelChapter, LaterTokensChangeNothingBeforeThem) {
  LoadedModel model({.config = tiny()});
  const auto prompt = random_prompt(80, 320);
  const auto begin = std::span(prompt).first(50);
  const Rows alone = all_logits(model.transformer, begin, begin.size());
  Rows together = all_logits(model.transformer, prompt, prompt.size());
  together.resize(begin.size());
  EXPECT_EQ(together, alone);

  // And what the cache holds of them stays as it is.
  KvCache cache = model.transformer.new_cache(80);
  const auto stored = [&] {
    Rows rows;
    for (size_t layer = 0; layer < tiny().n_layers; ++layer) {
      for (size_t position = 0; position < begin.size(); ++position) {
        rows.push_back(cache.pages(layer).key(position, 1));
        rows.push_back(cache.pages(layer).value(position, 1));
      }
    }
    return rows;
  };
  model.transformer.forward_step(cache, begin, 0);
  const Rows before = stored();
  model.transformer.forward_step(cache, std::span(prompt).subspan(begin.size()), begin.size());
  EXPECT_EQ(stored(), before);
}

TEST(ModelChapter, PositionsMatter) {
  LoadedModel model({.config = tiny()});
  auto prompt = random_prompt(12, 320);
  const auto logits = model.transformer.forward_last_logits(prompt);
  const std::vector<float> in_order(logits.begin(), logits.end());
  std::swap(prompt[3], prompt[7]);
  const auto other = model.transformer.forward_last_logits(prompt);
  EXPECT_GT(test::relative_error(in_order, std::vector<double>(other.begin(), other.end())), 0.01);
}

// The same token at two positions: its key has turned, its value is the same.
TEST(ModelChapter, KeysAreStoredTurnedAndValuesAreNot) {
  LoadedModel model({.config = tiny()});
  KvCache cache = model.transformer.new_cache(8);
  const std::vector<int32_t> same(8, 42);
  model.transformer.forward_step(cache, same, 0);
  const KvPages first_layer = cache.pages(0);
  for (size_t kv_head = 0; kv_head < tiny().n_kv_heads; ++kv_head) {
    EXPECT_EQ(first_layer.value(0, kv_head), first_layer.value(7, kv_head));
    const auto at_0 = first_layer.key(0, kv_head), at_7 = first_layer.key(7, kv_head);
    const size_t half = at_0.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      const double angle =
          7 / std::pow(double{tiny().rope_base}, 2.0 * double(i) / double(2 * half));
      const double expected = at_0[i] * std::cos(angle) - at_0[i + half] * std::sin(angle);
      EXPECT_NEAR(at_7[i], expected, 4e-3) << i;  // both are rounded to f16
    }
  }
}

// With output matrices of zeros no block adds anything: the stream is the embedding, and what is
// left is the last norm and the head.
TEST(ModelChapter, BlocksThatAddNothingLeaveTheEmbedding) {
  const SyntheticModel file{.config = tiny(), .format = DType::F32, .tied_head = false};
  test::Bytes bytes = file.bytes();
  for (size_t layer = 0; layer < tiny().n_layers; ++layer) {
    const std::string name = "blk." + std::to_string(layer) + ".";
    erase_tensor(bytes, name + "attn_output.weight");
    erase_tensor(bytes, name + "ffn_down.weight");
  }
  const gguf::File parsed = gguf::File::parse(bytes);
  Transformer model = Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
  const std::vector<int32_t> ids = {5, 99, 17};
  const auto logits = model.forward_last_logits(ids);

  const auto x = float_row(parsed, "token_embd.weight", 17);
  const auto weight = float_row(parsed, "output_norm.weight", 0);
  double mean_square = 0;
  for (const float value : x) mean_square += double{value} * value / double(x.size());
  const double scale = 1 / std::sqrt(mean_square + double{tiny().norm_eps});
  std::vector<double> expected;
  for (size_t token = 0; token < tiny().vocab_size; ++token) {
    const auto row = float_row(parsed, "output.weight", token);
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += x[i] * scale * weight[i] * row[i];
    expected.push_back(sum);
  }
  EXPECT_LT(test::relative_error(logits, expected), 1e-6);
}

TEST(KvCacheChapter, AWindowIsAppliedWhereTheCacheIsRead) {
  Config c = tiny();
  c.n_layers = 1;
  const SyntheticModel file{.config = c};
  LoadedModel full(file), windowed(file, {.n_threads = 2, .attn_window = 5});
  const auto prompt = random_prompt(70, 320);
  KvCache all = full.transformer.new_cache(70), some = windowed.transformer.new_cache(70);
  const auto logits = full.transformer.forward_step(all, prompt, 0);
  const std::vector<float> unlimited(logits.begin(), logits.end());
  const auto limited = windowed.transformer.forward_step(some, prompt, 0);
  EXPECT_NE(unlimited, std::vector<float>(limited.begin(), limited.end()));
  // The cache of the windowed model has kept everything, and an unlimited reader can go on with it.
  for (size_t position = 0; position < 70; ++position) {
    ASSERT_EQ(some.pages(0).key(position, 0), all.pages(0).key(position, 0)) << position;
    ASSERT_EQ(some.pages(0).value(position, 1), all.pages(0).value(position, 1)) << position;
  }
}

TEST(KvCacheChapter, AStepReadsAndWritesOnlyWhatIsNew) {
  LoadedModel model({.config = tiny()});
  std::vector<size_t> rows_of_k;
  model.transformer.set_probe([&](const ProbedRows& rows) {
    if (std::string_view(rows.name) == "Kcur") rows_of_k.push_back(rows.n_rows);
  });
  const auto prompt = random_prompt(9, 320);
  KvCache cache = model.transformer.new_cache(16);
  model.transformer.forward_step(cache, prompt, 0);
  model.transformer.forward_step(cache, std::span(prompt).first(1), 9);
  EXPECT_EQ(rows_of_k, (std::vector<size_t>{9, 9, 1, 1}));
}

TEST(KvCacheChapter, PagesAreAViewOfTheCache) {
  LoadedModel model({.config = tiny()});
  const auto prompt = random_prompt(5, 320);
  KvCache cache = model.transformer.new_cache(16);
  // Another token at position 4 first: a slot never written to has no value to compare with.
  model.transformer.forward_step(cache, std::span(prompt).first(4), 0);
  model.transformer.forward_step(cache, std::vector<TokenId>{(prompt[4] + 1) % 320}, 4);
  cache.truncate(4);
  const KvPages before = cache.pages(1);
  const std::vector<float> taken_back = before.key(4, 0);
  model.transformer.forward_step(cache, std::span(prompt).subspan(4), 4);
  EXPECT_EQ(cache.pages(1).key_page(0, 0), before.key_page(0, 0)) << "the same memory";
  EXPECT_NE(before.key(4, 0), taken_back) << "an older view shows what was appended";
}

TEST(KvCacheChapter, TwiceTheKeyValueHeadsAreTwiceTheBytes) {
  LoadedModel few({.config = tiny()});
  Config c = tiny();
  c.n_kv_heads *= 2;
  LoadedModel many({.config = c});
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    EXPECT_EQ(many.transformer.new_cache(64, type).bytes_per_position(),
              2 * few.transformer.new_cache(64, type).bytes_per_position());
  }
}

}  // namespace
}  // namespace maglio
