#include "model/expert_history.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "model/expert_plan.h"
#include "support/error_code.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

namespace fs = std::filesystem;

class ExpertHistoryFile : public testing::Test {
 protected:
  // A run of a model with 2 layers of 4 experts that chose some.
  std::optional<std::string> save(uint32_t expert, uint32_t n, uint64_t model = 7) {
    ExpertHistory history(model, 2, 4);
    const ExpertDemand demand{expert, n};
    history.note(1, {&demand, 1});
    return history.save(path_);
  }
  std::vector<uint64_t> counts() {
    ExpertHistory history(7, 2, 4);
    why_ = history.load(path_).value_or("");
    return {history.earlier().begin(), history.earlier().end()};
  }
  std::string bytes() {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  const std::vector<uint64_t> none_ = std::vector<uint64_t>(8, 0);
  test::TempDir dir_;
  fs::path path_ = dir_ / "model.gguf.experts";
  std::string why_;
};

TEST_F(ExpertHistoryFile, AddsRunToRun) {
  EXPECT_EQ(counts(), none_);
  EXPECT_EQ(why_, "") << "no file is no mistake";
  EXPECT_EQ(save(2, 5), std::nullopt);
  EXPECT_EQ(save(3, 1), std::nullopt);
  EXPECT_EQ(save(2, 10), std::nullopt);
  EXPECT_EQ(counts(), (std::vector<uint64_t>{0, 0, 0, 0, 0, 0, 15, 1}));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
}

TEST_F(ExpertHistoryFile, ARunThatChoseNothingWritesNothing) {
  EXPECT_EQ(ExpertHistory(7, 2, 4).save(path_), std::nullopt);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(ExpertHistoryFile, OfAnotherModelIsNotUsed) {
  save(2, 5, /*model=*/8);
  EXPECT_EQ(counts(), none_);
  EXPECT_NE(why_.find("belongs to another model"), std::string::npos) << why_;
}

TEST_F(ExpertHistoryFile, CutOrChangedAnywhereIsNotUsedAndSaysSo) {
  save(2, 5);
  const std::string whole = bytes();
  for (size_t i = 0; i < whole.size(); ++i) {
    write(whole.substr(0, i));
    EXPECT_EQ(counts(), none_) << "cut at " << i;
    EXPECT_NE(why_, "") << "cut at " << i;
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    write(changed);
    EXPECT_EQ(counts(), none_) << "changed at " << i;
    EXPECT_NE(why_, "") << "changed at " << i;
  }
  write(whole + "x");
  EXPECT_EQ(counts(), none_);
}

TEST_F(ExpertHistoryFile, ThatIsAFolderOrAPipeIsNotUsedAndNotWaitedFor) {
  fs::create_directory(path_);
  EXPECT_EQ(counts(), none_);
  EXPECT_NE(why_, "");
  EXPECT_NE(save(2, 5), std::nullopt) << "cannot be replaced by a file";
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(counts(), none_);
  EXPECT_NE(why_, "");
}

TEST_F(ExpertHistoryFile, ThatIsDamagedIsReplaced) {
  write("something else");
  EXPECT_EQ(save(1, 4), std::nullopt);
  EXPECT_EQ(counts()[5], 4u);
  EXPECT_EQ(why_, "");
}

TEST_F(ExpertHistoryFile, WhatWasSavedIsNotAddedAgain) {
  ExpertHistory history(7, 2, 4);
  const ExpertDemand demand{3, 5};
  history.note(0, {&demand, 1});
  EXPECT_EQ(history.save(path_), std::nullopt);
  EXPECT_EQ(history.save(path_), std::nullopt);
  EXPECT_EQ(counts()[3], 5u);
  history.note(0, {&demand, 1});
  EXPECT_EQ(history.save(path_), std::nullopt);
  EXPECT_EQ(counts()[3], 10u);
}

TEST_F(ExpertHistoryFile, InAFolderThatIsGoneOrTakesNoFilesIsAReasonAndWritesNothing) {
  const fs::path gone = dir_ / "gone" / "model.gguf.experts";
  for (const fs::path& path : {gone, fs::path("/proc/model.gguf.experts")}) {
    ExpertHistory history(7, 2, 4);
    const ExpertDemand demand{3, 5};
    history.note(0, {&demand, 1});
    const std::optional<std::string> why = history.save(path);
    ASSERT_TRUE(why) << path;
    EXPECT_TRUE(why->starts_with(path.string() + " cannot be made: ")) << *why;
    EXPECT_FALSE(fs::exists(path));
  }
}

// A device that takes only so many bytes, without asking for one: a limit of the process.
class SmallDevice {
 public:
  explicit SmallDevice(rlim_t n_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{n_bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SmallDevice() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDevice(const SmallDevice&) = delete;
  SmallDevice& operator=(const SmallDevice&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(ExpertHistoryFile, OnAFullDeviceIsAReasonAndTheOldOneStays) {
  EXPECT_EQ(save(2, 5), std::nullopt);
  const std::string whole = bytes();
  for (const rlim_t room : {size_t{0}, size_t{10}, size_t{56}, whole.size() - 1}) {
    std::optional<std::string> why;
    {
      const SmallDevice device(room);
      why = save(3, 5);
    }
    ASSERT_TRUE(why) << room;
    EXPECT_TRUE(why->starts_with(path_.string() + " cannot be written: ")) << *why;
    EXPECT_EQ(why->find("Success"), std::string::npos) << *why;
    EXPECT_EQ(bytes(), whole);
    EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
  }
}

TEST_F(ExpertHistoryFile, LargeCountsAreHalvedTogether) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(save(2, UINT32_MAX), std::nullopt);
  save(3, 1000);
  const auto found = counts();
  EXPECT_EQ(why_, "");
  EXPECT_LE(found[6], uint64_t{1} << 32);
  EXPECT_GT(found[6], uint64_t{1} << 30);
}

class ExpertPlan : public ExpertHistoryFile {
 protected:
  // Of 2 layers with experts of 10 and 20 bytes.
  std::vector<LayerSlots> plan(const ExpertHistory& history, const ExpertCacheOptions& options) {
    const std::vector<size_t> bytes = {10, 20};
    return plan_expert_cache(bytes, 4, history, options);
  }
  ExpertHistory learned(const std::vector<ExpertDemand>& first,
                        const std::vector<ExpertDemand>& second) {
    ExpertHistory run(7, 2, 4);
    run.note(0, first);
    run.note(1, second);
    EXPECT_EQ(run.save(path_), std::nullopt);
    ExpertHistory history(7, 2, 4);
    EXPECT_EQ(history.load(path_), std::nullopt);
    return history;
  }
};

TEST_F(ExpertPlan, LayersGetSlotsAlikeAsLongAsTheyFit) {
  const ExpertHistory unknown(7, 2, 4);
  auto layers = plan(unknown, {.bytes = 70});
  EXPECT_EQ(layers[0].n_slots, 3u);
  EXPECT_EQ(layers[1].n_slots, 2u);
  layers = plan(unknown, {.bytes = UINT64_MAX});
  EXPECT_EQ(layers[0].n_slots, 4u);
  EXPECT_EQ(layers[1].n_slots, 4u);
  EXPECT_TRUE(layers[0].pinned.empty());
}

TEST_F(ExpertPlan, LessThanOneExpertALayerIsRefusedWithTheNumber) {
  const ExpertHistory unknown(7, 2, 4);
  EXPECT_EQ(plan(unknown, {.bytes = 30})[1].n_slots, 1u);
  try {
    (void)plan(unknown, {.bytes = 29});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "ExpertCacheTooSmall");
    EXPECT_NE(error.message().find("at least 30"), std::string::npos) << error.message();
  }
}

TEST_F(ExpertPlan, ThoseChosenMostArePinnedWithinTheirShare) {
  const auto history = learned({{0, 4000}, {1, 10}, {3, 9000}}, {{2, 8000}});
  auto layers = plan(history, {.bytes = 120});  // 60 for pinned ones: 10, 20 and 10
  EXPECT_EQ(layers[0].pinned, (std::vector<uint32_t>{3, 0}));
  EXPECT_EQ(layers[1].pinned, (std::vector<uint32_t>{2}));
  EXPECT_GT(layers[0].n_slots, 2u);
  layers = plan(history, {.bytes = 120, .pinned_bytes = 30});
  EXPECT_EQ(layers[0].pinned, (std::vector<uint32_t>{3}));
  layers = plan(history, {.bytes = 120, .pinned_bytes = 0});
  EXPECT_TRUE(layers[0].pinned.empty() && layers[1].pinned.empty());
  // However much is asked for, each layer keeps a slot for the others.
  layers = plan(history, {.bytes = 40, .pinned_bytes = 40});
  EXPECT_EQ(layers[0].pinned, (std::vector<uint32_t>{3}));
  EXPECT_EQ(layers[0].n_slots, 2u);
  EXPECT_EQ(layers[1].n_slots, 1u);
}

TEST_F(ExpertPlan, ShortOrEvenHistoriesPinNobody) {
  auto layers = plan(learned({{3, 399}}, {{2, 400}}), {.bytes = 120});
  EXPECT_TRUE(layers[0].pinned.empty() && layers[1].pinned.empty()) << "little was seen";
  fs::remove(path_);
  const std::vector<ExpertDemand> even = {{0, 5000}, {1, 5000}, {2, 5000}, {3, 5000}};
  layers = plan(learned(even, even), {.bytes = 120});
  EXPECT_TRUE(layers[0].pinned.empty() && layers[1].pinned.empty()) << "all alike";
}

}  // namespace
}  // namespace maglio
