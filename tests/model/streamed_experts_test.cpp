// Experts that are read from disk compute what resident ones do, to the last bit, whatever fits.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "maglio/error.h"
#include "model/kv_cache.h"
#include "support/error_code.h"
#include "support/loaded_model.h"
#include "support/streamed_model.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;
using test::all_logits;
using test::random_prompt;
using test::ReaderScript;
using test::Rows;
using test::scripted_by;
using test::SyntheticModel;

class StreamedExperts : public testing::Test {
 protected:
  void write(const SyntheticModel& model) {
    model.builder().write(path_);
    expert_bytes_ = 0;  // those of the file before
  }
  // Bytes that so many of a hundred experts of each layer take.
  uint64_t room_for(size_t n_of_hundred) {
    if (expert_bytes_ == 0) {
      const Transformer all =
          Transformer::load(path_, {.n_threads = 1, .expert_cache = {{.bytes = UINT64_MAX}}});
      const ExpertCacheStats stats = *all.expert_cache_stats();
      expert_bytes_ = stats.capacity_bytes / stats.capacity;
    }
    return expert_bytes_ * 3 * n_of_hundred;
  }
  Transformer streamed(size_t n_of_hundred, ExpertCacheOptions options = {}, size_t n_threads = 2) {
    options.bytes = room_for(n_of_hundred);
    options.learn = false;
    return Transformer::load(gguf::File::open(path_),
                             {.n_threads = n_threads, .expert_cache = options},
                             scripted_by(script_));
  }
  Rows resident(std::span<const int32_t> prompt, WeightStorage experts = WeightStorage::packed) {
    Transformer model = Transformer::load(path_, {.n_threads = 2, .experts = experts});
    return all_logits(model, prompt, prompt.size());
  }

  test::TempDir dir_;
  fs::path path_ = dir_ / "model.gguf";
  uint64_t expert_bytes_ = 0;
  ReaderScript script_;
};

TEST_F(StreamedExperts, AreResidentOnesWithRoomForOneTenFiftyOrAllOfAHundred) {
  const auto prompt = random_prompt(40, 320);
  for (const DType format : {DType::Q8_0, DType::Q4_K}) {
    write(test::hundred_experts(format));
    const Rows packed = resident(prompt);
    EXPECT_EQ(resident(prompt, WeightStorage::mapped), packed);
    for (const size_t room : {1, 10, 50, 100}) {
      for (const bool lookahead : {false, true}) {
        Transformer model = streamed(room, {.lookahead = lookahead});
        EXPECT_EQ(model.expert_cache_stats()->capacity, 3 * room);
        for (const size_t length : {40, 7, 1}) {
          EXPECT_EQ(all_logits(model, prompt, length), packed)
              << to_string(format) << " " << room << " " << length;
        }
      }
    }
  }
}

TEST_F(StreamedExperts, AreResidentOnesWhateverGivesWayHoweverReadAndOnAnyThreads) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(30, 320);
  const Rows packed = resident(prompt);
  for (const auto eviction : {ExpertEviction::frequency, ExpertEviction::least_recent}) {
    for (const bool direct : {true, false}) {
      for (const size_t n_threads : {1, 2, 3}) {
        Transformer model =
            streamed(10, {.eviction = eviction, .n_io_threads = 3, .direct = direct}, n_threads);
        EXPECT_EQ(all_logits(model, prompt, 30), packed);
        EXPECT_EQ(all_logits(model, prompt, 1), packed);
      }
    }
  }
  Transformer one_reader = streamed(10, {.n_io_threads = 1});
  EXPECT_EQ(all_logits(one_reader, prompt, 1), packed);
}

TEST_F(StreamedExperts, APromptThatNeedsMoreExpertsThanThereIsRoomForTakesTurns) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(600, 320);  // more than one pass
  Transformer model = streamed(10);
  KvCache cache = model.new_cache(prompt.size());
  const auto last = model.forward_step(cache, prompt, 0);
  EXPECT_EQ(std::vector<float>(last.begin(), last.end()), resident(prompt).back());
  EXPECT_GT(model.expert_cache_stats()->asked, 4 * model.expert_cache_stats()->capacity);
}

// The same token again and again: every position computes the same, but for its place.
TEST_F(StreamedExperts, AllTokensOnTheSameExperts) {
  write(test::hundred_experts());
  const std::vector<int32_t> prompt(25, 77);
  Transformer model = streamed(1);
  EXPECT_EQ(all_logits(model, prompt, 25), resident(prompt));
  EXPECT_EQ(model.expert_cache_stats()->asked, 3u * 4u) << "four experts in each layer";
}

TEST_F(StreamedExperts, OfASplitFileToo) {
  const auto prompt = random_prompt(20, 320);
  write(test::hundred_experts());
  const Rows packed = resident(prompt);
  const uint64_t room = room_for(10);
  const auto parts = test::hundred_experts().builder().write_split(dir_.path(), "parts", 5);
  Transformer model = Transformer::load(
      parts[3], {.n_threads = 2, .expert_cache = {{.bytes = room, .learn = false}}});
  EXPECT_EQ(all_logits(model, prompt, 20), packed);
  EXPECT_EQ(all_logits(model, prompt, 1), packed);
}

TEST_F(StreamedExperts, BesideAnExpertThatAllTokensShare) {
  SyntheticModel file = test::hundred_experts();
  const Config shared = test::tiny_config(Architecture::qwen2moe);
  file.config.architecture = shared.architecture;
  file.config.qk_norm = shared.qk_norm;
  file.config.d_shared = shared.d_shared;
  file.config.normalize_selected = shared.normalize_selected;
  file.biases = true;
  write(file);
  const auto prompt = random_prompt(20, 320);
  Transformer model = streamed(10);
  EXPECT_EQ(all_logits(model, prompt, 7), resident(prompt));
}

TEST_F(StreamedExperts, BesideWeightsInTheFileAndAHeadOfItsOwn) {
  SyntheticModel file = test::hundred_experts();
  file.tied_head = false;
  write(file);
  const auto prompt = random_prompt(20, 320);
  const Rows packed = resident(prompt);
  const uint64_t room = room_for(10);
  for (const auto rest : {WeightStorage::packed, WeightStorage::mapped}) {
    Transformer model = Transformer::load(
        path_,
        {.n_threads = 2, .weights = rest, .expert_cache = {{.bytes = room, .learn = false}}});
    EXPECT_EQ(model.weight_storage(), rest);
    EXPECT_EQ(all_logits(model, prompt, 20), packed);
  }
}

TEST_F(StreamedExperts, StreamsOfABatchShareReads) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(12, 320);
  const auto bytes_for = [&](size_t n_streams) {
    script_.n_bytes = 0;
    Transformer model = streamed(
        50, {.eviction = ExpertEviction::least_recent, .lookahead = false, .n_io_threads = 2});
    std::vector<KvCache> caches;
    std::vector<Span> batch;
    for (size_t i = 0; i < n_streams; ++i) caches.push_back(model.new_cache(40));
    for (KvCache& cache : caches) batch.push_back({.cache = &cache, .ids = prompt});
    (void)model.forward(batch);
    for (int32_t step = 0; step < 9; ++step) {
      std::vector<KvCache*> pointers;
      for (KvCache& cache : caches) pointers.push_back(&cache);
      (void)model.forward_step_batch(pointers, std::vector<int32_t>(n_streams, 3 * step));
    }
    return script_.n_bytes.load();
  };
  EXPECT_EQ(bytes_for(8), bytes_for(1));
}

TEST_F(StreamedExperts, StatisticsAreWhatTheReaderSaw) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(20, 320);
  for (const bool lookahead : {false, true}) {
    for (const bool direct : {false, true}) {
      script_.n_reads = script_.n_bytes = 0;
      ExpertCacheStats stats;
      {
        Transformer model = streamed(10, {.lookahead = lookahead, .direct = direct});
        (void)all_logits(model, prompt, 1);
        // What was read ahead at the end may still come.
        do {
          stats = *model.expert_cache_stats();
        } while (stats.reads != script_.n_reads);
      }
      EXPECT_EQ(stats.bytes_read, script_.n_bytes.load());
      EXPECT_EQ(stats.asked, 20u * 3u * 4u) << "each token asks for four in each layer";
      EXPECT_LE(stats.hits + stats.late, stats.asked);
      EXPECT_GT(stats.hits, 0u);
      EXPECT_EQ(stats.foretellable, lookahead ? 20u * 2u * 4u : 0u) << "the first layer is not";
      EXPECT_EQ(stats.foretold_asked > 0, lookahead);
      if (lookahead) continue;
      EXPECT_EQ(stats.reads, 3 * (stats.asked - stats.hits));
    }
  }
}

TEST_F(StreamedExperts, WithRoomForAllEachIsReadOnce) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(60, 320);
  Transformer model = streamed(100);
  for (int i = 0; i < 3; ++i) (void)all_logits(model, prompt, 13);
  const std::scoped_lock lock(script_.mutex);
  EXPECT_GT(script_.times.size(), 3u * 100u);
  for (const auto& [place, times] : script_.times) EXPECT_EQ(times, 1u);
}

TEST_F(StreamedExperts, WhatEarlierRunsUsedMostIsPinnedReadOnceAndStays) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(450, 320);  // 5,400 choices a time
  const Rows packed = resident(prompt);
  const auto learning = [&] {
    return Transformer::load(
        gguf::File::open(path_),
        {.n_threads = 2, .expert_cache = {{.bytes = room_for(20), .lookahead = false}}},
        scripted_by(script_));
  };
  {
    Transformer first = learning();
    EXPECT_EQ(first.expert_cache_stats()->pinned, 0u);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(all_logits(first, prompt, 450), packed);
  }
  EXPECT_TRUE(fs::exists(dir_ / "model.gguf.experts"));
  script_.times.clear();
  Transformer second = learning();
  EXPECT_TRUE(second.load_notes().empty());
  EXPECT_EQ(second.expert_cache_stats()->pinned, 30u) << "half of the room";
  EXPECT_EQ(all_logits(second, prompt, 1), packed);
  EXPECT_GT(second.expert_cache_stats()->pinned_hits, 0u);
  const std::scoped_lock lock(script_.mutex);
  const auto once =
      std::ranges::count_if(script_.times, [](const auto& t) { return t.second == 1; });
  EXPECT_GE(once, 3 * 30) << "of three parts each";
}

TEST_F(StreamedExperts, AHistoryThatCannotBeKeptIsAReasonAndNoFailure) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(20, 320);
  const Rows packed = resident(prompt);
  const uint64_t room = room_for(10);
  {
    Transformer model =
        Transformer::load(path_, {.n_threads = 2, .expert_cache = {{.bytes = room}}});
    EXPECT_EQ(model.keep_expert_history(), std::nullopt) << "nothing was learned";
    EXPECT_EQ(all_logits(model, prompt, 5), packed);
    EXPECT_EQ(model.keep_expert_history(), std::nullopt);
    const auto kept = fs::file_size(dir_ / "model.gguf.experts");
    EXPECT_GT(kept, 3u * 100u * 8u);

    fs::remove_all(dir_.path());
    EXPECT_EQ(model.keep_expert_history(), std::nullopt) << "nothing was learned since";
    EXPECT_EQ(all_logits(model, prompt, 5), packed);
    const std::optional<std::string> why = model.keep_expert_history();
    ASSERT_TRUE(why);
    EXPECT_NE(why->find("model.gguf.experts cannot be made: "), std::string::npos) << *why;
    EXPECT_EQ(all_logits(model, prompt, 5), packed);
  }
  EXPECT_FALSE(fs::exists(dir_.path()));
  fs::create_directory(dir_.path());  // whose end removes it
}

TEST_F(StreamedExperts, AHistoryThatIsNotTheirsIsSaidAndNotUsed) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(20, 320);
  const Rows packed = resident(prompt);
  const uint64_t room = room_for(10);
  std::ofstream(dir_ / "model.gguf.experts") << "pin all of them";
  Transformer model = Transformer::load(path_, {.n_threads = 2, .expert_cache = {{.bytes = room}}});
  ASSERT_EQ(model.load_notes().size(), 1u);
  EXPECT_NE(model.load_notes()[0].find("model.gguf.experts"), std::string::npos);
  EXPECT_EQ(model.expert_cache_stats()->pinned, 0u);
  EXPECT_EQ(all_logits(model, prompt, 5), packed);
}

TEST_F(StreamedExperts, AReadThatFailsIsAnErrorAndTheNextRequestGoesOn) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(9, 320);
  const Rows packed = resident(prompt);
  for (const bool lookahead : {false, true}) {
    for (const size_t room : {1, 10, 100}) {
      Transformer model = streamed(room, {.lookahead = lookahead});
      size_t n_errors = 0;
      for (const uint64_t after : {0, 1, 5, 17, 40}) {
        script_.fails_from = script_.n_reads + after;
        script_.n_failures = 1 + after % 4;
        KvCache cache = model.new_cache(prompt.size());
        try {
          (void)model.forward_step_all_logits(cache, prompt, 0);
        } catch (const Error& error) {
          ++n_errors;
          EXPECT_EQ(error.kind(), ErrorKind::io);
          EXPECT_EQ(error.code(), "CannotReadFile");
          EXPECT_NE(error.message().find("_exps.weight: expert "), std::string::npos)
              << error.message();
          EXPECT_EQ(cache.length(), 0u);
        }
        script_.fails_from = UINT64_MAX;
        EXPECT_EQ(all_logits(model, prompt, 4), packed) << room << " " << after;
      }
      // A guess that fails is no error: it is read again when it is asked for.
      EXPECT_GE(n_errors, lookahead ? 0u : room == 100 ? 1u : 3u) << room;
    }
  }
}

TEST_F(StreamedExperts, AFileThatIsCutIsAnErrorAndServesAgainWhenItIsWhole) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(9, 320);
  const Rows packed = resident(prompt);
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  Transformer model = streamed(10);
  fs::resize_file(path_, whole.size() / 3);
  KvCache cache = model.new_cache(prompt.size());
  try {
    (void)model.forward_step_all_logits(cache, prompt, 0);
    ADD_FAILURE() << "computed with experts that are not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.code(), "ShortRead");
    EXPECT_NE(error.message().find("model.gguf: expected"), std::string::npos) << error.message();
  }
  EXPECT_EQ(cache.length(), 0u);
  std::fstream(path_, std::ios::binary | std::ios::in | std::ios::out) << whole;
  EXPECT_EQ(all_logits(model, prompt, 4), packed);
}

// Where the bytes of a file are mapped from `offset` on.
std::byte* mapped_at(const std::string& path, uint64_t offset) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) == std::string::npos) continue;
    unsigned long begin = 0, end = 0, first = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &first), 3);
    if (offset >= first && offset - first < end - begin) {
      return reinterpret_cast<std::byte*>(begin) + (offset - first);
    }
  }
  return nullptr;
}

// Whether some part of the file is mapped for reads here and there ("rr" among its flags).
bool is_read_at_random(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    const bool begins = line.find('-') < line.find(' ');  // "7f00...-7f01... r--p ..."
    if (begins) is_of_file = line.find(path) != std::string::npos;
    if (is_of_file && line.starts_with("VmFlags:") && line.find(" rr") != std::string::npos) {
      return true;
    }
  }
  return false;
}

// Whether this system shows such advice at all: an emulated one passes none on.
bool shows_advice(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  void* const page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  ::madvise(page, 4096, MADV_RANDOM);
  const bool is_shown = is_read_at_random(path);
  ::munmap(page, 4096);
  ::close(file);
  return is_shown;
}

TEST_F(StreamedExperts, RowsOfTheEmbeddingDoNotBringTheirNeighboursFromTheDisk) {
  SyntheticModel untied = test::hundred_experts();
  untied.tied_head = false;
  // Panels of BF16 do not hold the rows: they are in the file although the head is packed.
  for (const SyntheticModel& file : {untied, test::hundred_experts(DType::BF16)}) {
    write(file);
    if (!shows_advice(path_.string())) GTEST_SKIP() << "no advice in /proc/self/smaps here";
    {
      const Transformer model = Transformer::load(path_, {.n_threads = 1});
      EXPECT_FALSE(is_read_at_random(path_.string())) << "with all experts in memory they may";
    }
    const Transformer model = streamed(10);
    EXPECT_TRUE(is_read_at_random(path_.string())) << to_string(file.format);
  }
}

// Whoever touched them would end the process: their pages are taken away.
TEST_F(StreamedExperts, AreNeverTouchedThroughTheMapping) {
  SyntheticModel model_file = test::hundred_experts(DType::Q4_K);
  model_file.tied_head = false;  // so that the file stays mapped
  write(model_file);
  const auto prompt = random_prompt(100, 320);
  const Rows packed = resident(prompt);
  const uint64_t room = room_for(10);
  Transformer model =
      Transformer::load(path_, {.n_threads = 2, .expert_cache = {{.bytes = room, .learn = false}}});
  std::vector<std::pair<uint64_t, uint64_t>> pages;  // of experts: place and size
  {
    const gguf::File file = gguf::File::open(path_);
    const std::byte* const begin = file.mappings()[0].bytes().data();
    for (const gguf::TensorInfo& tensor : file.tensors()) {
      if (tensor.dims.size() != 3) continue;
      constexpr uint64_t kPage = 4096;
      const auto at = static_cast<uint64_t>(tensor.data.data() - begin);
      const uint64_t first = (at + kPage - 1) / kPage * kPage;
      pages.emplace_back(first, (at + tensor.data.size()) / kPage * kPage - first);
    }
  }
  uint64_t n_protected = 0;
  for (const auto& [at, size] : pages) {
    std::byte* const place = mapped_at(path_.string(), at);
    ASSERT_NE(place, nullptr);
    ASSERT_EQ(::mprotect(place, size, PROT_NONE), 0);
    n_protected += size;
  }
  EXPECT_GT(n_protected, size_t{20} << 20);
  EXPECT_EQ(all_logits(model, prompt, 100), packed);
  EXPECT_LE(model.expert_cache_stats()->capacity_bytes, room);
}

TEST_F(StreamedExperts, TheModelOwnsItsFileWhateverBecomesOfItsName) {
  SyntheticModel file = test::hundred_experts();
  file.tied_head = false;  // the embedding stays in the mapping
  write(file);
  const auto prompt = random_prompt(20, 320);
  const Rows packed = resident(prompt);
  Transformer on_disk = streamed(10);
  Transformer mapped = Transformer::load(path_, {.n_threads = 2, .weights = WeightStorage::mapped});
  fs::remove(path_);
  EXPECT_EQ(all_logits(mapped, prompt, 7), packed);
  EXPECT_EQ(all_logits(on_disk, prompt, 7), packed);
  Transformer moved = std::move(on_disk);
  EXPECT_EQ(all_logits(moved, prompt, 1), packed);
}

// Readers that are at work when the model ends have their memory and their file until they are
// done.
TEST_F(StreamedExperts, AModelMayEndWhileItsExpertsAreBeingRead) {
  write(test::hundred_experts());
  const auto prompt = random_prompt(9, 320);
  for (int i = 0; i < 10; ++i) {
    Transformer model = streamed(10);
    KvCache cache = model.new_cache(prompt.size());
    script_.fails_from = script_.n_reads + 30;  // ends the pass while other reads are under way
    script_.n_failures = 1000;
    EXPECT_EQ(test::code_of([&] { (void)model.forward_step(cache, prompt, 0); }), "CannotReadFile");
    script_.fails_from = UINT64_MAX;
  }
}

TEST_F(StreamedExperts, ACacheThatIsTooSmallForAnExpertALayerIsRefused) {
  write(test::hundred_experts());
  const auto code = test::code_of(
      [&] { (void)Transformer::load(path_, {.expert_cache = {{.bytes = room_for(1) - 1}}}); });
  EXPECT_EQ(code, "ExpertCacheTooSmall");
  EXPECT_EQ(test::code_of([&] {
              const auto bytes = test::hundred_experts().bytes();
              (void)Transformer::load(gguf::File::parse(bytes),
                                      {.expert_cache = {{.bytes = UINT64_MAX}}});
            }),
            "ExpertsNotInAFile");
}

TEST_F(StreamedExperts, ADenseModelSaysThatItHasNone) {
  write({.config = test::tiny_config(Architecture::qwen3)});
  const Transformer model = Transformer::load(path_, {.expert_cache = {{.bytes = 1}}});
  EXPECT_FALSE(model.expert_cache_stats());
  ASSERT_EQ(model.load_notes().size(), 1u);
  EXPECT_NE(model.load_notes()[0].find("no experts"), std::string::npos);
  const Transformer other =
      Transformer::load(path_, {.experts = WeightStorage::mapped, .expert_top_p = 0.5f});
  EXPECT_EQ(other.load_notes().size(), 2u);
}

TEST_F(StreamedExperts, OptionsThatCannotBeAreRefused) {
  write(test::hundred_experts());
  for (const float top_p : {-1.0f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(test::code_of([&] { (void)Transformer::load(path_, {.expert_top_p = top_p}); }),
              "BadExpertTopP");
  }
  for (const size_t n : {size_t{0}, size_t{257}, SIZE_MAX}) {
    const ExpertCacheOptions cache{.bytes = room_for(10), .n_io_threads = n};
    EXPECT_EQ(test::code_of([&] { (void)Transformer::load(path_, {.expert_cache = cache}); }),
              "BadExpertIoThreads");
  }
}

}  // namespace
}  // namespace maglio
