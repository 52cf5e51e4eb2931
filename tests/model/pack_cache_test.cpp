#include "model/pack_cache.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "maglio/error.h"
#include "support/loaded_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;
using test::Rows;
using test::SyntheticModel;

class PackCache : public testing::Test {
 protected:
  PackCache() { write_model(1); }

  void write_model(uint64_t seed) {
    SyntheticModel{.config = test::tiny_k_config(Architecture::qwen3),
                   .format = DType::Q4_K,
                   .format_of =
                       [](std::string_view name) {
                         return name.ends_with("attn_v.weight") ? std::optional(DType::Q6_K)
                                                                : std::nullopt;
                       },
                   .seed = seed}
        .builder()
        .write(model_);
  }
  // The logits of a prompt; what was noted while loading is in notes_ then.
  Rows logits(LoadOptions options) {
    if (options.n_threads == 0) options.n_threads = 2;
    Transformer model = Transformer::load(model_, options);
    notes_ = model.load_notes();
    const auto prompt = test::random_prompt(9, 320);
    return test::all_logits(model, prompt, 5);
  }
  Rows uncached() { return logits({}); }
  Rows cached() { return logits({.pack_cache = ""}); }

  // The one note, or several joined.
  std::string notes() const {
    std::string all;
    for (const std::string& note : notes_) all += note + "\n";
    return all;
  }
  std::string cache_bytes() const {
    std::ifstream in(cache_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_cache(const std::string& bytes) const {
    std::ofstream(cache_, std::ios::binary) << bytes;
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()));
  }

  test::TempDir dir_;
  fs::path model_ = dir_ / "model.gguf";
  fs::path cache_ = dir_ / "model.gguf.packed";
  std::vector<std::string> notes_;
};

TEST_F(PackCache, IsMadeAtTheFirstStartAndUsedAtTheNext) {
  const Rows expected = uncached();
  EXPECT_FALSE(fs::exists(cache_));
  EXPECT_EQ(cached(), expected);
  EXPECT_EQ(notes(), "");
  ASSERT_TRUE(fs::exists(cache_));
  EXPECT_EQ(files(), 2u) << "nothing else is left behind";
  const auto written = fs::last_write_time(cache_);
  EXPECT_EQ(cached(), expected);
  EXPECT_EQ(notes(), "");
  EXPECT_EQ(fs::last_write_time(cache_), written) << "used, not made again";
}

TEST_F(PackCache, LiesInTheFolderThatIsNamed) {
  fs::create_directory(dir_ / "caches");
  const Rows expected = uncached();
  EXPECT_EQ(logits({.pack_cache = dir_ / "caches"}), expected);
  EXPECT_TRUE(fs::exists(dir_ / "caches" / "model.gguf.packed"));
  EXPECT_FALSE(fs::exists(cache_));
}

TEST_F(PackCache, ServesEveryInstructionSetAndThreadCount) {
  for (const Kernels* writer : available_kernels()) {
    fs::remove(cache_);
    const Rows expected = logits({.isa = writer->name, .pack_cache = ""});
    const auto written = fs::last_write_time(cache_);
    for (const Kernels* reader : available_kernels()) {
      for (const size_t n_threads : {1, 2, 3}) {
        EXPECT_EQ(logits({.n_threads = n_threads, .isa = reader->name, .pack_cache = ""}), expected)
            << writer->name << " -> " << reader->name;
        EXPECT_EQ(fs::last_write_time(cache_), written) << writer->name << " -> " << reader->name;
      }
    }
  }
}

// In place of the checks: the bytes are really those of the file.
TEST_F(PackCache, IsWhereTheWeightsComeFrom) {
  cached();
  EXPECT_EQ(Transformer::load(model_, {.pack_cache = ""}).weight_storage(), WeightStorage::packed);
  Transformer model = Transformer::load(model_, {.n_threads = 1, .pack_cache = ""});
  KvCache sequence = model.new_cache(4);
  fs::resize_file(cache_, 4096);
  const std::vector<TokenId> ids = {1};
  try {
    (void)model.forward_step(sequence, ids, 0);
    ADD_FAILURE() << "was computed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "FileShrank");
    EXPECT_NE(error.message().find(".packed"), std::string::npos);
  }
}

TEST_F(PackCache, OfAnotherModelIsMadeAnew) {
  cached();
  write_model(2);
  const Rows expected = uncached();
  EXPECT_EQ(cached(), expected);
  EXPECT_NE(notes().find("was made from another file: made anew"), std::string::npos) << notes();
  EXPECT_EQ(cached(), expected);
  EXPECT_EQ(notes(), "");
}

TEST_F(PackCache, OfAModelThatWasTouchedIsMadeAnew) {
  const Rows expected = cached();
  fs::last_write_time(model_, fs::last_write_time(model_) + std::chrono::nanoseconds(1000));
  EXPECT_EQ(cached(), expected);
  EXPECT_NE(notes().find("was made from another file"), std::string::npos) << notes();
}

TEST_F(PackCache, ThatIsCutAnywhereIsMadeAnew) {
  const Rows expected = cached();
  const std::string whole = cache_bytes();
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{79}, size_t{80}, size_t{90}, kHugePage - 1, kHugePage,
        kHugePage + 1, whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
    write_cache(whole.substr(0, std::min(size, whole.size())));
    EXPECT_EQ(cached(), expected) << size;
    EXPECT_NE(notes().find("is cut short: made anew"), std::string::npos) << size << notes();
    EXPECT_EQ(cache_bytes(), whole) << size;
  }
  write_cache(whole + "x");
  EXPECT_EQ(cached(), expected);
  EXPECT_EQ(cache_bytes(), whole);
}

// Every byte of the header and its table, and one in every few thousand of the panels.
TEST_F(PackCache, WithAChangedByteAnywhereIsMadeAnew) {
  const Rows expected = cached();
  const std::string whole = cache_bytes();
  std::vector<size_t> places;
  for (size_t at = 0; at < 120; ++at) places.push_back(at);
  for (size_t at = kHugePage; at < whole.size(); at += 40'961) places.push_back(at);
  places.push_back(whole.size() - 1);
  for (const size_t at : places) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (at % 2 == 0 ? 1 : 0x80));
    write_cache(changed);
    ASSERT_EQ(cached(), expected) << at;
    EXPECT_NE(notes().find("made anew"), std::string::npos) << at;
    ASSERT_EQ(cache_bytes(), whole) << at;
  }
}

TEST_F(PackCache, FilesOfOtherKindsAreNoCaches) {
  const Rows expected = uncached();
  const std::string model = [&] {
    std::ifstream in(model_, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  }();
  for (const std::string& other : {model, std::string(5 << 20, '\0'), std::string(200, '\xff')}) {
    write_cache(other);
    EXPECT_EQ(cached(), expected);
    EXPECT_NE(notes().find("holds no packed weights: made anew"), std::string::npos) << notes();
  }
}

TEST_F(PackCache, AFolderInItsPlaceIsAnError) {
  fs::create_directory(cache_);
  EXPECT_THROW(cached(), Error);
}

TEST_F(PackCache, WithoutAFolderTheModelRunsAndANoteSaysSo) {
  const Rows expected = uncached();
  EXPECT_EQ(logits({.pack_cache = dir_ / "no" / "such"}), expected);
  EXPECT_NE(notes().find("No such file or directory: packed weights are not kept"),
            std::string::npos)
      << notes();
}

// A limit of file sizes stands for a full disk: at the first byte, and in the middle.
TEST_F(PackCache, OnAFullDiskTheModelRunsAndNothingIsLeft) {
  const Rows expected = uncached();
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {rlim_t{4096}, rlim_t{kHugePage} + 100'000}) {
    const rlimit full{.rlim_cur = limit, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    EXPECT_EQ(cached(), expected);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_NE(notes().find("packed weights are not kept"), std::string::npos) << notes();
    EXPECT_EQ(files(), 1u);
  }
  ::signal(SIGXFSZ, handler);
}

TEST_F(PackCache, IsNotKeptForMappedWeights) {
  const Rows expected = uncached();
  EXPECT_EQ(logits({.weights = WeightStorage::mapped, .pack_cache = ""}), expected);
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackCache, OfASplitModelKnowsEveryPart) {
  const auto parts =
      SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write_split(
          dir_.path(), "split", 3);
  model_ = parts[0];
  const Rows expected = cached();
  EXPECT_EQ(cached(), expected);
  EXPECT_EQ(notes(), "");
  fs::last_write_time(parts[2], fs::last_write_time(parts[2]) + std::chrono::nanoseconds(1000));
  EXPECT_EQ(cached(), expected);
  EXPECT_NE(notes().find("was made from another file"), std::string::npos) << notes();
}

}  // namespace
}  // namespace maglio
