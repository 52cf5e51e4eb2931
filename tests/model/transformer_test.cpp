#include "model/transformer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "support/loaded_model.h"

namespace maglio {
namespace {

using test::copy_rows;
using test::LoadedModel;
using test::random_prompt;
using test::Rows;

// The code of the error that a call ends in; empty where it does not.
template <class F>
std::string code_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

class TransformerTest : public testing::Test {
 protected:
  LoadedModel loaded_{{.config = test::tiny_config(Architecture::qwen3)}};
  Transformer& model_ = loaded_.transformer;
};

TEST_F(TransformerTest, EachSpanGetsTheRowsItWants) {
  KvCache a = model_.new_cache(16), b = model_.new_cache(16), c = model_.new_cache(16);
  const auto ids = random_prompt(5, 320);
  const Span batch[] = {{.cache = &a, .ids = ids, .logits = LogitRows::last},
                        {.cache = &b, .ids = ids, .logits = LogitRows::none},
                        {.cache = &c, .ids = ids, .logits = LogitRows::all}};
  const Rows rows = copy_rows(model_.forward(batch));
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0], rows[5]);
  EXPECT_NE(rows[1], rows[0]);
  EXPECT_EQ(a.length(), 5u);
  EXPECT_EQ(b.length(), 5u);
  EXPECT_EQ(c.length(), 5u);
}

TEST_F(TransformerTest, ASpanWithoutLogitsLeavesTheSameCache) {
  const auto ids = random_prompt(9, 320);
  KvCache silent = model_.new_cache(16), loud = model_.new_cache(16);
  EXPECT_EQ(
      model_.forward({{{.cache = &silent, .ids = ids, .logits = LogitRows::none}}}).extent<Row>(),
      0u);
  model_.forward_step_all_logits(loud, ids, 0);
  const std::vector<int32_t> next = {3};
  const Rows after_silent = copy_rows(model_.forward_step_all_logits(silent, next, 9));
  const Rows after_loud = copy_rows(model_.forward_step_all_logits(loud, next, 9));
  EXPECT_EQ(after_silent, after_loud);
}

// The head is the largest matrix and the last layer needs no row that nobody asks for.
TEST_F(TransformerTest, WhereOnlyTheLastRowIsWantedTheLastLayerComputesOneRow) {
  std::map<std::string, size_t> n_rows;  // by name and layer
  model_.set_probe([&n_rows](const ProbedRows& rows) {
    n_rows[std::string(rows.name) + "-" + std::to_string(rows.layer)] = rows.n_rows;
  });
  const auto ids = random_prompt(7, 320);
  KvCache cache = model_.new_cache(16);
  model_.forward_step(cache, ids, 0);
  EXPECT_EQ(n_rows["kqv_out-0"], 7u);
  EXPECT_EQ(n_rows["ffn_out-0"], 7u);
  EXPECT_EQ(n_rows["Kcur-1"], 7u) << "keys and values of all rows are stored";
  EXPECT_EQ(n_rows["kqv_out-1"], 1u);
  EXPECT_EQ(n_rows["attn_out-1"], 1u);
  EXPECT_EQ(n_rows["ffn_out-1"], 1u);
  EXPECT_EQ(n_rows["result_norm-2"], 1u);
  KvCache other = model_.new_cache(16);
  model_.forward_step_all_logits(other, ids, 0);
  EXPECT_EQ(n_rows["ffn_out-1"], 7u);
  EXPECT_EQ(n_rows["result_norm-2"], 7u);
}

TEST_F(TransformerTest, RefusesAPositionOtherThanTheCachesLength) {
  KvCache cache = model_.new_cache(16);
  const auto ids = random_prompt(4, 320);
  model_.forward_step(cache, ids, 0);
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, ids, 0); }), "InvalidSequenceLength");
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, ids, 5); }), "InvalidSequenceLength");
  EXPECT_EQ(cache.length(), 4u);
}

TEST_F(TransformerTest, AStepAfterARefusalStillWorks) {
  KvCache cache = model_.new_cache(6);
  const auto ids = random_prompt(6, 320);
  model_.forward_step(cache, std::span(ids).first(4), 0);
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, std::span(ids).first(3), 4); }),
            "KvCacheOverflow");
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, std::span(ids).first(1), 3); }),
            "InvalidSequenceLength");
  EXPECT_EQ(cache.length(), 4u);
  const auto logits = model_.forward_step(cache, std::span(ids).subspan(4), 4);
  const std::vector<float> after(logits.begin(), logits.end());
  const auto straight = model_.forward_last_logits(ids);
  EXPECT_EQ(after, std::vector<float>(straight.begin(), straight.end()));
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, std::span(ids).first(1), 6); }),
            "KvCacheOverflow");
}

TEST_F(TransformerTest, OneBadSpanLeavesEveryCacheAsItWas) {
  KvCache good = model_.new_cache(16), full = model_.new_cache(2);
  const auto ids = random_prompt(3, 320);
  const Span batch[] = {{.cache = &good, .ids = ids}, {.cache = &full, .ids = ids}};
  EXPECT_EQ(code_of([&] { model_.forward(batch); }), "KvCacheOverflow");
  EXPECT_EQ(good.length(), 0u);
  EXPECT_EQ(full.length(), 0u);
}

TEST_F(TransformerTest, RefusesCachesThatDoNotGoTogether) {
  const auto ids = random_prompt(1, 320);
  KvCache a = model_.new_cache(8), b = model_.new_cache(8, CacheType::q8_0);
  const std::vector<int32_t> two = {1, 2};
  KvCache* const twice[] = {&a, &a};
  EXPECT_EQ(code_of([&] { model_.forward_step_batch(twice, two); }), "MismatchedKvCaches");
  KvCache* const types[] = {&a, &b};
  EXPECT_EQ(code_of([&] { model_.forward_step_batch(types, two); }), "MismatchedKvCaches");
  LoadedModel other({.config = test::tiny_k_config(Architecture::qwen3)});
  KvCache foreign = other.transformer.new_cache(8);
  EXPECT_EQ(code_of([&] { model_.forward_step(foreign, ids, 0); }), "MismatchedKvCaches");
  EXPECT_EQ(a.length() + b.length() + foreign.length(), 0u);
}

TEST_F(TransformerTest, RefusesIdsOutsideTheVocabularyAndEmptySpans) {
  KvCache cache = model_.new_cache(8);
  for (const int32_t id : {-1, 320, std::numeric_limits<int32_t>::max()}) {
    EXPECT_EQ(code_of([&] { model_.forward_step(cache, {&id, 1}, 0); }), "InvalidTokenId") << id;
  }
  EXPECT_EQ(code_of([&] { model_.forward_step(cache, {}, 0); }), "EmptySpan");
  EXPECT_EQ(code_of([&] { model_.forward({}); }), "EmptyBatch");
  EXPECT_EQ(cache.length(), 0u);
}

TEST_F(TransformerTest, ARepeatedStepAllocatesNoScratch) {
  KvCache cache = model_.new_cache(64);
  const auto ids = random_prompt(40, 320);
  for (int i = 0; i < 2; ++i) {
    model_.forward_step(cache, ids, 0);
    cache.truncate(0);
  }
  const size_t scratch = model_.scratch_bytes();
  for (int i = 0; i < 3; ++i) {
    model_.forward_step(cache, ids, 0);
    cache.truncate(0);
  }
  EXPECT_EQ(model_.scratch_bytes(), scratch);
}

TEST(TransformerTied, AHeadEqualToTheEmbeddingGivesTheLogitsOfATiedOne) {
  const test::SyntheticModel file{.config = test::tiny_config(Architecture::qwen3)};
  const test::Bytes tied = file.bytes();
  const gguf::File tied_file = gguf::File::parse(tied);
  const auto table = tied_file.require("token_embd.weight").data;
  const auto with_head = [&](test::Bytes head) {
    return file.builder().tensor("output.weight", DType::Q8_0, {128, 320}, std::move(head)).bytes();
  };
  const test::Bytes copied = with_head({table.begin(), table.end()});
  test::Bytes other_head(table.begin(), table.end());
  other_head[10] ^= std::byte{1};
  const test::Bytes other = with_head(other_head);
  const auto logits_of = [](const test::Bytes& bytes) {
    Transformer model = Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
    const auto logits = model.forward_last_logits(random_prompt(9, 320));
    return std::vector<float>(logits.begin(), logits.end());
  };
  EXPECT_EQ(logits_of(copied), logits_of(tied));
  EXPECT_NE(logits_of(other), logits_of(tied)) << "a head of its own is used";
}

TEST(TransformerNan, LogitsThatAreNotFiniteAreAnErrorAndTheCacheIsAsItWas) {
  // An embedding row of NaN: finite norms, so loading succeeds; token 5 then poisons its sequence.
  test::SyntheticModel file{.config = test::tiny_config(Architecture::qwen3), .format = DType::F32};
  file.without = "token_embd.weight";
  std::vector<float> table(320 * 128, 0.25f);
  for (size_t i = 0; i < table.size(); ++i) table[i] *= static_cast<float>(i % 7) - 3.0f;
  table[5 * 128 + 3] = std::numeric_limits<float>::quiet_NaN();
  const test::Bytes bytes =
      file.builder()
          .tensor("token_embd.weight", DType::F32, {128, 320}, test::float_bytes(table))
          .bytes();
  file.tied_head = true;
  Transformer model = Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
  KvCache cache = model.new_cache(8);
  const std::vector<int32_t> ids = {1, 5};
  EXPECT_EQ(code_of([&] { model.forward_step(cache, ids, 0); }), "NonFiniteLogits");
  EXPECT_EQ(cache.length(), 0u);
}

// Wherever a broken number stands in the file, it reaches the logits and is told; nothing on the
// way rounds, masks or maximises it away.
TEST(TransformerNan, ABrokenScaleInAnyMatrixIsTold) {
  const test::SyntheticModel whole{.config = test::tiny_config(Architecture::qwen3),
                                   .tied_head = false};
  const test::Bytes good = whole.bytes();
  const gguf::File file = gguf::File::parse(good);
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (tensor.dtype != DType::Q8_0) continue;
    for (const uint16_t half : {uint16_t{0x7e00}, uint16_t{0x7c00}}) {  // NaN, infinity
      test::Bytes bytes = good;
      const auto at = static_cast<size_t>(tensor.data.data() - good.data());
      std::memcpy(bytes.data() + at, &half, sizeof half);
      Transformer model = Transformer::load(gguf::File::parse(bytes), {.n_threads = 1});
      for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
        KvCache cache = model.new_cache(80, type);
        std::vector<int32_t> ids(70, 0);  // row 0 of the embedding holds the broken block
        EXPECT_EQ(code_of([&] { model.forward_step(cache, ids, 0); }), "NonFiniteLogits")
            << tensor.name << " " << half << " " << static_cast<int>(type);
        EXPECT_EQ(cache.length(), 0u);
      }
    }
  }
}

// The bits of a model's logits, folded: FNV-1a over the little-endian bytes.
uint64_t hash_of(std::span<const float> logits) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const float x : logits) {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffu)) * 0x100000001b3u;
    }
  }
  return hash;
}

// A golden: any change to any kernel, however small, turns it red. Such a change is re-blessed in a
// commit of its own that says why.
struct Golden {
  DType format;
  CacheType cache;
  uint64_t hash;
};
constexpr Golden kGoldens[] = {
    {DType::F32, CacheType::f16, 0x8aff90e304c90d21u},
    {DType::F16, CacheType::f16, 0x392be6afcbd6b8d3u},
    {DType::BF16, CacheType::f16, 0x1a12cfd73b78e167u},
    {DType::Q8_0, CacheType::f16, 0x3488bb9c348c64eeu},
    {DType::Q4_0, CacheType::f16, 0xcd470085e88e033fu},
    {DType::Q4_1, CacheType::f16, 0x65545282ca8805b1u},
    {DType::Q5_0, CacheType::f16, 0x2443493662f15bf1u},
    {DType::Q5_1, CacheType::f16, 0x99e1b11297884a47u},
    {DType::Q4_K, CacheType::f16, 0xc4f33b200c36bc95u},
    {DType::Q5_K, CacheType::f16, 0xbc7528645b9f19fbu},
    {DType::Q6_K, CacheType::f16, 0xc1a1dbe16ff10c9au},
    {DType::Q8_0, CacheType::q8_0, 0xcb28c569ebe0a41du},
};

TEST(TransformerGolden, LogitsKeepTheirBits) {
  for (const Golden& golden : kGoldens) {
    const test::SyntheticModel file{.config = test::tiny_k_config(Architecture::qwen3),
                                    .format = golden.format};
    for (const WeightStorage storage : {WeightStorage::packed, WeightStorage::mapped}) {
      LoadedModel model(file, {.n_threads = 2, .weights = storage});
      const auto prompt = random_prompt(70, 320);
      KvCache cache = model.transformer.new_cache(70, golden.cache);
      EXPECT_EQ(hash_of(model.transformer.forward_step(cache, prompt, 0)), golden.hash)
          << to_string(golden.format) << (storage == WeightStorage::mapped ? " mapped" : "");
    }
  }
}

}  // namespace
}  // namespace maglio
