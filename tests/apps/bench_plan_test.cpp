#include "maglio/bench_plan.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "maglio/commands.h"

namespace maglio::app {
namespace {

using Counts = std::vector<size_t>;

TEST(BenchPlan, ListsAndRangesAreLlamaBenchs) {
  EXPECT_EQ(parse_counts("-p", "512"), (Counts{512}));
  EXPECT_EQ(parse_counts("-p", "1,2,4"), (Counts{1, 2, 4}));
  EXPECT_EQ(parse_counts("-p", "1-4"), (Counts{1, 2, 3, 4}));
  EXPECT_EQ(parse_counts("-p", "16-64+16"), (Counts{16, 32, 48, 64}));
  EXPECT_EQ(parse_counts("-p", "1-8*2,100"), (Counts{1, 2, 4, 8, 100}));
  EXPECT_EQ(parse_counts("-p", "0"), (Counts{0}));
  for (const char* bad :
       {"", "x", "1,", "1-", "4-1", "1-8*1", "1-8+0", "0-8*2", "1..4", "-1", "1-99999999"}) {
    EXPECT_THROW(parse_counts("-p", bad), CLI::ValidationError) << bad;
  }
}

BenchFlags parsed(std::vector<std::string> arguments) {
  CLI::App app;
  BenchFlags flags;
  flags.add_to(app);
  arguments = with_double_dashes("bench", std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return flags;
}

std::vector<BenchTest> plan(std::vector<std::string> arguments) {
  return parsed(std::move(arguments)).plan();
}

TEST(BenchPlan, DefaultsArePp512AndTg128) {
  const auto tests = plan({"a.gguf"});
  ASSERT_EQ(tests.size(), 2u);
  EXPECT_EQ(tests[0].name(), "pp512");
  EXPECT_EQ(tests[1].name(), "tg128");
  EXPECT_EQ(tests[0].model, "a.gguf");
  EXPECT_EQ(tests[0].cache_type, "f16");
  EXPECT_GE(tests[0].n_threads, 1u);
}

TEST(BenchPlan, IsTheCrossProduct) {
  const auto tests = plan({"-m", "a.gguf", "-m", "b.gguf", "-p", "8,16", "-n", "0", "-pg", "8,4",
                           "-d", "0,32", "-t", "1-2", "-ctk", "f16,q8_0"});
  ASSERT_EQ(tests.size(), 2u * 3u * 2u * 2u * 2u);
  EXPECT_EQ(tests[0].name(), "pp8");
  EXPECT_EQ(tests[2].name(), "pp8+tg4");
  EXPECT_EQ(tests[3].name(), "pp8 @ d32");
  EXPECT_EQ(tests.back().model, "b.gguf");
  EXPECT_EQ(tests.back().cache_type, "q8_0");
  EXPECT_EQ(tests.back().n_threads, 2u);
}

TEST(BenchPlan, StreamsMultiplyGenerationAndBeginWithOne) {
  const auto tests =
      plan({"a.gguf", "-p", "16", "-n", "4", "-npl", "4,8", "-pg", "2,3", "-d", "32"});
  ASSERT_EQ(tests.size(), 5u);
  EXPECT_EQ(tests[0].name(), "pp16 @ d32");
  EXPECT_EQ(tests[1].name(), "tg4 @ d32");
  EXPECT_EQ(tests[2].name(), "tg4 x4 @ d32");
  EXPECT_EQ(tests[3].name(), "tg4 x8 @ d32");
  EXPECT_EQ(tests[3].n_tokens(), 32u);
  EXPECT_EQ(tests[4].n_streams, 1u);
  EXPECT_EQ(plan({"a.gguf", "--parallel", "1"}).size(), 2u);
}

TEST(BenchPlan, ASweepBringsItsOwnLengthsAndDepths) {
  const auto tests =
      plan({"a.gguf", "--sweep", "-d", "0,64", "-n", "3", "-t", "1", "-ctk", "q8_0"});
  ASSERT_EQ(tests.size(), 43u);
  EXPECT_EQ(tests[40].name(), "tg3");
  EXPECT_EQ(tests[42].name(), "tg3 @ d64");
  for (const BenchTest& test : tests) EXPECT_EQ(test.cache_type, "q8_0");
  EXPECT_EQ(plan({"a.gguf", "--sweep"}).size(), 40u + 13u);
}

TEST(BenchPlan, ResultsOfAFileNeedNoModel) {
  EXPECT_TRUE(plan({"--from", "x.json", "--versus", "y.json", "--plot", "z.svg"}).empty());
  EXPECT_THROW(plan({"a.gguf", "--from", "x.json"}), CLI::Error);
  EXPECT_THROW(plan({"--sweep", "--from", "x.json"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "--plot", "z.svg"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "--versus", "y.json"}), CLI::Error);
}

TEST(BenchPlan, WeightsAreKeptAsRunKeepsThem) {
  LoadOptions options;
  parsed({"m.gguf", "--no-repack", "--expert-top-p", "0.5", "--expert-cache", "64"})
      .storage.put_into(options);
  EXPECT_EQ(options.weights, WeightStorage::mapped);
  EXPECT_EQ(options.expert_top_p, 0.5f);
  ASSERT_TRUE(options.expert_cache);
  EXPECT_EQ(options.expert_cache->bytes, 64u);
  EXPECT_THROW(plan({"m.gguf", "--fit", "--pack-cache"}), CLI::ValidationError);
}

TEST(BenchPlan, RefusesWhatItCannotMeasure) {
  EXPECT_THROW(plan({}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "-ctk", "q4_0"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "-ctk", "f16", "-ctv", "q8_0"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "-ub", "0"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "-pg", "1,2,3"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "-npl", "0"}), CLI::Error);
  EXPECT_THROW(plan({"--sweep"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "--sweep", "-p", "5"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "b.gguf", "--sweep"}), CLI::Error);
  EXPECT_THROW(plan({"a.gguf", "--sweep", "-t", "1,2"}), CLI::Error);
}

}  // namespace
}  // namespace maglio::app
