#include "model/model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "maglio/error.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

TEST(Model, LoadsAFileAndSaysWhatItIs) {
  const test::TempDir folder;
  test::SyntheticModel{.config = test::tiny_config(Architecture::llama), .tied_head = false}
      .builder()
      .string("general.name", "Tiny")
      .string("tokenizer.chat_template", "{{ messages }}")
      .write(folder / "model.gguf");
  const Model model = Model::load(folder / "model.gguf", {.n_threads = 2});
  const ModelInfo& info = model.info();
  EXPECT_EQ(info.name, "Tiny");
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.chat_template, "{{ messages }}");
  EXPECT_EQ(info.n_layers, 2u);
  EXPECT_EQ(info.vocab_size, 320u);
  EXPECT_EQ(info.n_ctx, 8192u);
  EXPECT_EQ(info.n_threads, 2u);
  EXPECT_FALSE(info.isa.empty());
  ASSERT_EQ(info.formats.size(), 2u);
  EXPECT_EQ(info.formats[0].name, "Q8_0");
  EXPECT_EQ(info.formats[0].n_tensors, 16u);
  EXPECT_EQ(info.formats[1].name, "F32");
  // 2 layers of (128 x 128) x 2 + (128 x 64) x 2 + (128 x 256) x 3 + 2 norms; embedding and head;
  // norm
  EXPECT_EQ(info.n_parameters, 2u * (32768 + 16384 + 98304 + 256) + 2u * 320 * 128 + 128);
  // K and V of 2 heads of 32 channels in 2 layers; 34 bytes per 32 in Q8_0.
  EXPECT_EQ(info.kv_bytes_f16, 2u * 2 * 2 * 32 * 2);
  EXPECT_EQ(info.kv_bytes_q8_0, 2u * 2 * 2 * 34);
}

TEST(Model, ACopyIsTheSameModelAndOutlivesTheFirst) {
  const test::TempDir folder;
  test::SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write(
      folder / "model.gguf");
  std::vector<Model> models;
  {
    const Model first = Model::load(folder / "model.gguf");
    models.push_back(first);
    EXPECT_EQ(&first.tokenizer(), &models[0].tokenizer());
  }
  EXPECT_EQ(models[0].tokenizer().encode_plain("hi"), (std::vector<TokenId>{256}));
  const std::vector<TokenId> ids = {1, 2, 3};
  EXPECT_EQ(models[0].parts().transformer.forward_last_logits(ids).size(), 320u);
}

TEST(Model, AFileThatIsNotThereIsAnIoError) {
  const test::TempDir folder;
  try {
    (void)Model::load(folder / "nothing.gguf");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_NE(error.message().find("nothing.gguf"), std::string::npos);
  }
}

}  // namespace
}  // namespace maglio
