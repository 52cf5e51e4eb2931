#include "ops/embed.h"

#include <gtest/gtest.h>

#include <vector>

#include "quant/codec.h"
#include "support/op_fixture.h"
#include "support/random_blocks.h"

namespace maglio {
namespace {

TEST(Embed, RowsOfEveryFormatRawAndPackedEqualTheDequantizedRows) {
  constexpr size_t kVocab = 37, kWidth = 256;
  const std::vector<int32_t> ids = {0, 36, 15, 16, 16, 5};
  for (const DType dtype :
       {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
        DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K}) {
    test::OpFixture f(2);
    test::Dice dice(1);
    const std::vector<std::byte> rows = test::random_weights(dtype, kVocab * kWidth, 0.5f, dice);
    const Weight<Vocab, Embed> raw{test::raw_matrix(dtype, kVocab, kWidth, rows)};
    // Panels of BF16 hold less than the file: its embedding is always raw.
    const bool is_whole = format_kernels(f.cx.kernels, dtype).unpack_row != nullptr;
    const Weight<Vocab, Embed> packed{is_whole ? f.pack(dtype, kVocab, kWidth, rows) : raw.matrix};
    const Tensor<float, Seq, Embed> from_raw = embed(f.cx, raw, ids);
    const Tensor<float, Seq, Embed> from_packed = embed(f.cx, packed, ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> row(kWidth);
      const size_t stored = row_bytes(dtype, kWidth);
      dequantize_row(dtype, rows.data() + static_cast<size_t>(ids[i]) * stored, kWidth, row.data());
      for (size_t k = 0; k < kWidth; ++k) {
        ASSERT_EQ(from_raw(i, k), row[k]) << to_string(dtype);
        ASSERT_EQ(from_packed(i, k), row[k]) << to_string(dtype);
      }
    }
  }
}

}  // namespace
}  // namespace maglio
