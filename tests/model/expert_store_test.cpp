// Which reads the store sends for and in which order, decided by a reader that can be held.
#include "model/expert_store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "model/packed_weights.h"
#include "support/streamed_model.h"

namespace maglio {
namespace {

// Reads a file, one part after the other; while it is held, a read that has begun does not end.
class HeldReader final : public ExpertReader {
 public:
  explicit HeldReader(const gguf::File& file) : file_(file, ReadMode::buffered) {}

  PartRead read(const FileRange& range, std::span<std::byte> buffer) override {
    std::unique_lock lock(mutex_);
    offsets_.push_back(range.offset);
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    return file_.read(range, buffer);
  }
  void hold() {
    const std::scoped_lock lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  void forget() {
    const std::scoped_lock lock(mutex_);
    offsets_.clear();
  }
  std::vector<uint64_t> so_far() {
    const std::scoped_lock lock(mutex_);
    return offsets_;
  }
  std::vector<uint64_t> wait_for(size_t n_begun) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return offsets_.size() >= n_begun; });
    return offsets_;
  }

 private:
  FileExpertReader file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<uint64_t> offsets_;
};

// Two layers of a hundred experts, room for ten of each, one thread that reads.
class ExpertStoreTest : public testing::Test {
 protected:
  ExpertStoreTest() : file_(written()) {
    for (const std::string layer : {"blk.0.", "blk.1."}) {
      layers_.push_back(expert_layout(file_,
                                      {&file_.require(layer + "ffn_gate_exps.weight"),
                                       &file_.require(layer + "ffn_up_exps.weight"),
                                       &file_.require(layer + "ffn_down_exps.weight")},
                                      active_kernels()));
    }
    auto reader = std::make_unique<HeldReader>(file_);
    reader_ = reader.get();
    store_.emplace(ExpertStoreParts{.layers = layers_,
                                    .reader = std::move(reader),
                                    .history = ExpertHistory(1, 2, 100),
                                    .history_path = {}},
                   active_kernels(),
                   ExpertCacheOptions{.bytes = 20 * layers_[0].expert_bytes, .n_io_threads = 1});
    sources_[0] = store_->source(0);
    sources_[1] = store_->source(1);
  }
  ~ExpertStoreTest() override { reader_->release(); }

  static std::vector<ExpertDemand> of_a_token(const std::vector<uint32_t>& experts) {
    std::vector<ExpertDemand> demands;
    for (const uint32_t expert : experts) demands.push_back({expert, 1});
    return demands;
  }
  // The memory of each expert that is lent.
  std::vector<std::vector<std::byte>> lend(size_t layer_i, const std::vector<uint32_t>& experts) {
    std::vector<std::vector<std::byte>> lent_bytes;
    sources_[layer_i]->lend(of_a_token(experts), [&](std::span<const LentExpert> lent) {
      for (const LentExpert& one : lent) {
        const std::byte* const begin = std::get<0>(one.weights.gate_up.parts).matrix.panels;
        const WeightMatrix& down = one.weights.down.matrix;
        lent_bytes.emplace_back(begin, down.panels + packed_bytes(down, active_kernels()));
      }
    });
    return lent_bytes;
  }
  // Guesses of layer 1 that were right, or wrong, each of an expert that is not in memory.
  void guess(uint32_t first, uint32_t n, bool right) {
    for (uint32_t expert = first; expert < first + n; ++expert) {
      sources_[1]->expect(of_a_token({expert}));
      (void)lend(1, {right ? expert : 99});
    }
  }
  // What is read of an expert, as "layer/expert/part".
  std::vector<std::string> names(const std::vector<uint64_t>& offsets) const {
    std::vector<std::string> found;
    for (const uint64_t offset : offsets) {
      for (size_t layer_i = 0; layer_i < 2; ++layer_i) {
        for (size_t part = 0; part < kExpertParts; ++part) {
          const FileRange& first = layers_[layer_i].stacks[part].first;
          if (offset < first.offset || offset >= first.offset + 100 * first.n_bytes) continue;
          found.push_back(
              fmt::format("{}/{}/{}", layer_i, (offset - first.offset) / first.n_bytes, part));
        }
      }
    }
    return found;
  }

  gguf::File written() {
    test::hundred_experts().builder().write(dir_ / "model.gguf");
    return gguf::File::open(dir_ / "model.gguf");
  }

  test::TempDir dir_;
  gguf::File file_;
  std::vector<LayerLayout> layers_;
  HeldReader* reader_ = nullptr;
  std::optional<ExpertStore> store_;
  std::unique_ptr<ExpertSource> sources_[2];
};

using Names = std::vector<std::string>;

TEST_F(ExpertStoreTest, AGuessIsReadWhenGuessesWereRightAndThenItIsThere) {
  guess(0, 10, /*right=*/true);
  EXPECT_EQ(store_->stats().foretold_asked, 10u);
  const uint64_t n_before = store_->stats().read_ahead;
  reader_->forget();
  sources_[1]->expect(of_a_token({50}));
  EXPECT_EQ(names(reader_->wait_for(3)), (Names{"1/50/0", "1/50/1", "1/50/2"}));
  EXPECT_EQ(store_->stats().read_ahead, n_before + 1);
  EXPECT_EQ(lend(1, {50}).size(), 1u);
  EXPECT_EQ(reader_->so_far().size(), 3u) << "read once";
}

TEST_F(ExpertStoreTest, AGuessIsNotReadWhenGuessesWereWrong) {
  guess(0, 40, /*right=*/false);
  const ExpertCacheStats before = store_->stats();
  EXPECT_EQ(before.read_ahead, 0u);
  EXPECT_EQ(before.foretold, 40u);
  EXPECT_EQ(before.foretold_asked, 0u);
  reader_->forget();
  sources_[1]->expect(of_a_token({50}));
  (void)lend(1, {51});
  EXPECT_EQ(names(reader_->so_far()), (Names{"1/51/0", "1/51/1", "1/51/2"}));
}

TEST_F(ExpertStoreTest, WhatIsAskedForIsReadBeforeWhatIsGuessed) {
  guess(0, 10, true);
  reader_->forget();
  reader_->hold();
  sources_[0]->send_for(of_a_token({1}));
  sources_[1]->expect(of_a_token({60}));
  (void)reader_->wait_for(1);
  sources_[0]->send_for(of_a_token({1, 2}));  // later than the guess
  reader_->release();
  EXPECT_EQ(names(reader_->wait_for(9)), (Names{"0/1/0", "0/1/1", "0/1/2", "0/2/0", "0/2/1",
                                                "0/2/2", "1/60/0", "1/60/1", "1/60/2"}));
}

TEST_F(ExpertStoreTest, AWrongGuessThatHasNotBegunIsNotRead) {
  guess(0, 10, true);
  reader_->forget();
  reader_->hold();
  sources_[0]->send_for(of_a_token({1}));
  (void)reader_->wait_for(1);
  sources_[1]->expect(of_a_token({60}));
  sources_[1]->send_for(of_a_token({61}));
  reader_->release();
  (void)lend(1, {61});
  EXPECT_EQ(names(reader_->so_far()),
            (Names{"0/1/0", "0/1/1", "0/1/2", "1/61/0", "1/61/1", "1/61/2"}));
  EXPECT_EQ(store_->stats().read_ahead_asked + 1, store_->stats().read_ahead);
}

TEST_F(ExpertStoreTest, AWrongGuessThatIsHalfReadIsGivenUpAndReadWholeWhenItIsAskedFor) {
  const std::vector<std::byte> expected = lend(1, {70})[0];
  guess(0, 30, true);  // which push it out
  reader_->forget();
  reader_->hold();
  sources_[1]->expect(of_a_token({70}));
  (void)reader_->wait_for(1);
  sources_[1]->send_for(of_a_token({71}));
  reader_->release();
  (void)lend(1, {71});
  EXPECT_EQ(names(reader_->so_far()), (Names{"1/70/0", "1/71/0", "1/71/1", "1/71/2"}));
  const uint64_t n_hits = store_->stats().hits;
  EXPECT_EQ(lend(1, {70})[0], expected);
  EXPECT_EQ(names(reader_->so_far()),
            (Names{"1/70/0", "1/71/0", "1/71/1", "1/71/2", "1/70/0", "1/70/1", "1/70/2"}));
  EXPECT_EQ(store_->stats().hits, n_hits) << "a part of an expert is none";
}

TEST_F(ExpertStoreTest, AskedForWhileItIsHalfReadAndGivenUpItIsReadAnew) {
  const std::vector<std::byte> expected = lend(1, {70})[0];
  guess(0, 30, true);
  reader_->forget();
  reader_->hold();
  sources_[1]->expect(of_a_token({70}));
  (void)reader_->wait_for(1);
  sources_[1]->send_for(of_a_token({71}));
  sources_[1]->send_for(of_a_token({70}));
  reader_->release();
  EXPECT_EQ(lend(1, {70})[0], expected);
}

TEST_F(ExpertStoreTest, TheOneThatWasChosenMostSeldomGivesWay) {
  for (int i = 0; i < 20; ++i) (void)lend(0, {7});
  for (uint32_t expert = 10; expert < 40; ++expert) (void)lend(0, {expert});
  reader_->forget();
  (void)lend(0, {7, 8});
  EXPECT_EQ(names(reader_->so_far()), (Names{"0/8/0", "0/8/1", "0/8/2"}));
}

TEST_F(ExpertStoreTest, StatisticsCountEachExpertOnceAsAskedForInMemoryOrRead) {
  (void)lend(0, {1, 2, 3});
  (void)lend(0, {2, 3, 4});
  const ExpertCacheStats stats = store_->stats();
  EXPECT_EQ(stats.asked, 6u);
  EXPECT_EQ(stats.hits, 2u);
  EXPECT_EQ(stats.late, 0u);
  EXPECT_EQ(stats.reads, 4u * kExpertParts);
  uint64_t bytes = 0;
  for (const StackLayout& stack : layers_[0].stacks) bytes += 4 * stack.first.n_bytes;
  EXPECT_EQ(stats.bytes_read, bytes) << "buffered reads bring no blocks around them";
  EXPECT_EQ(stats.pinned_hits, 0u);
  EXPECT_EQ(stats.foretellable, 0u);
}

}  // namespace
}  // namespace maglio
