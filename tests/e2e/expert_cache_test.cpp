#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/streamed_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::ProgramResult;

class ExpertCache : public testing::Test {
 protected:
  ExpertCache() { test::hundred_experts().builder().write(path_); }
  ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {MAGLIO_BINARY, "run", path_.string(), "--threads", "2",
                                         "--temp", "0", "--ignore-eos"});
    return test::run_program(arguments, "", {});
  }

  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "model.gguf";
};

TEST_F(ExpertCache, SaysTheSameAsExpertsInMemoryAndWhatWasRead) {
  const std::vector<std::string> task = {"--prompt", "hi there", "--gen", "30"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), task.begin(), task.end());
    return run(flags);
  };
  const ProgramResult resident = with({});
  ASSERT_EQ(resident.exit_code, 0) << resident.err;
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--expert-cache", "300KB"},
                                             {"--expert-cache", "1MB", "--no-expert-lookahead"},
                                             {"--expert-cache", "1MB", "--expert-eviction", "lru"},
                                             {"--expert-cache", "1GB", "--expert-reads", "buffered",
                                              "--expert-io-threads", "2", "--expert-pin", "0"}}) {
    const ProgramResult streamed = with(flags);
    EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
    EXPECT_EQ(streamed.out, resident.out);
    EXPECT_NE(streamed.err.find("experts: "), std::string::npos) << streamed.err;
    EXPECT_NE(streamed.err.find(" reads, "), std::string::npos) << streamed.err;
  }
}

TEST_F(ExpertCache, StatisticsAreInTheJsonToo) {
  const ProgramResult f = run({"--expert-cache", "1MB", "--prompt", "hi", "--gen", "10", "--json"});
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const auto experts = boost::json::parse(f.out).as_object().at("experts").as_object();
  EXPECT_EQ(experts.at("n_experts").to_number<int>(), 300);
  EXPECT_EQ(experts.at("asked").to_number<int>(), 3 * 4 * 10);
  EXPECT_GT(experts.at("bytes_read").to_number<int64_t>(), 0);
  EXPECT_GE(experts.at("lookahead_recall").to_number<double>(), 0);
  EXPECT_LE(experts.at("read_ahead_asked").to_number<int64_t>(),
            experts.at("read_ahead").to_number<int64_t>());
  EXPECT_LE(experts.at("capacity_bytes").to_number<int64_t>(), 1 << 20);
}

TEST_F(ExpertCache, KeepsItsHistoryBesideTheModelUnlessToldNotTo) {
  const std::string history = path_.string() + ".experts";
  run({"--expert-cache", "1MB", "--prompt", "hi", "--gen", "3", "--no-expert-learning"});
  EXPECT_FALSE(std::filesystem::exists(history));
  run({"--expert-cache", "1MB", "--prompt", "hi", "--gen", "3"});
  EXPECT_TRUE(std::filesystem::exists(history));
}

// The longest name that the file system takes, so that there is no room for ".experts".
TEST_F(ExpertCache, AHistoryThatCannotBeKeptIsSaidOnceAndTheAnswerIsThere) {
  const std::vector<std::string> task = {"--prompt", "hi", "--gen", "3"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), task.begin(), task.end());
    return run(flags);
  };
  const std::string answer = with({}).out;
  const std::filesystem::path longest = dir_ / (std::string(250, 'x') + ".gguf");
  std::filesystem::rename(path_, longest);
  path_ = longest;
  const ProgramResult f = with({"--expert-cache", "1MB"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, answer);
  const size_t at = f.err.find(longest.string() + ".experts cannot be made: File name too long: ");
  ASSERT_NE(at, std::string::npos) << f.err;
  EXPECT_NE(f.err.find("--no-expert-learning", at), std::string::npos) << f.err;
  EXPECT_EQ(f.err.find("cannot be made", at + longest.string().size() + 20), std::string::npos);

  const ProgramResult quiet = with({"--expert-cache", "1MB", "--no-expert-learning"});
  EXPECT_EQ(quiet.err.find("cannot be made"), std::string::npos) << quiet.err;
  const ProgramResult refused =
      run({"--expert-cache", "1MB", "--prompt-ids", "1,999999", "--gen", "1"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_EQ(refused.err.find("cannot be made"), std::string::npos) << "nothing was learned";
}

TEST_F(ExpertCache, EveryKnobIsAFlagOrALineThatSaysWhyNot) {
  std::ifstream in(std::filesystem::path(MAGLIO_SOURCE_DIR) / "docs/experts.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  const std::string help = test::run_program({MAGLIO_BINARY, "run", "--help"}).out;
  for (const char* flag :
       {"--expert-cache", "--expert-pin", "--expert-eviction", "--no-expert-lookahead",
        "--no-expert-learning", "--expert-io-threads", "--expert-reads", "--expert-top-p"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
    EXPECT_NE(page.find(flag), std::string::npos) << flag;
  }
  const size_t none = page.find("What is no flag:");
  ASSERT_NE(none, std::string::npos);
  for (const char* knob : {"**slots a layer**", "**read-ahead**", "**trace**"}) {
    EXPECT_NE(page.find(knob, none), std::string::npos) << knob;
  }
}

TEST_F(ExpertCache, StreamsShareIt) {
  const std::vector<std::string> task = {"--prompt", "hi", "--gen", "6", "--streams", "3"};
  std::vector<std::string> flags = {"--expert-cache", "1MB"};
  flags.insert(flags.end(), task.begin(), task.end());
  const ProgramResult streamed = run(flags);
  EXPECT_EQ(streamed.exit_code, 0) << streamed.err;
  EXPECT_EQ(streamed.out, run(task).out);
}

TEST_F(ExpertCache, WhatFitChoosesAndSaysIsWhatRuns) {
  const std::vector<std::string> task = {"--prompt", "hi", "--gen", "3", "--fit"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), task.begin(), task.end());
    return run(flags);
  };
  const std::string answer = run({"--prompt", "hi", "--gen", "3"}).out;
  const ProgramResult packed = with({"--no-expert-learning", "--no-expert-lookahead"});
  EXPECT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_EQ(packed.out, answer);
  EXPECT_NE(packed.err.find(" --experts packed: "), std::string::npos) << packed.err;
  EXPECT_NE(packed.err.find("no experts are read from disk"), std::string::npos) << packed.err;
  const ProgramResult mapped = with({"--experts", "mmap"});
  EXPECT_NE(mapped.err.find(" --experts mmap: "), std::string::npos) << mapped.err;
  EXPECT_EQ(mapped.err.find("no experts are read"), std::string::npos) << mapped.err;
  EXPECT_EQ(mapped.out, answer);
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".experts"));
}

TEST_F(ExpertCache, BadValuesAreRefusedWithTheRemedy) {
  const auto refusal = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--prompt", "hi", "--gen", "1"});
    const ProgramResult f = run(flags);
    EXPECT_NE(f.exit_code, 0);
    EXPECT_EQ(f.out, "");
    return f.err;
  };
  EXPECT_NE(refusal({"--expert-cache", "1KB"}).find("expected at least"), std::string::npos);
  EXPECT_NE(refusal({"--expert-cache", "0"}).find("expected at least"), std::string::npos);
  for (const char* wrong : {"-1", "much", "4XB", "1e99", "99999999999999999999"}) {
    EXPECT_NE(refusal({"--expert-cache", wrong}).find("expert-cache"), std::string::npos) << wrong;
  }
  for (const std::vector<std::string>& detail :
       std::vector<std::vector<std::string>>{{"--expert-eviction", "lru"},
                                             {"--expert-pin", "1MB"},
                                             {"--expert-io-threads", "2"},
                                             {"--expert-reads", "direct"},
                                             {"--no-expert-lookahead"},
                                             {"--no-expert-learning"}}) {
    EXPECT_NE(refusal(detail).find(detail[0] + ": expected --expert-cache or --fit"),
              std::string::npos)
        << detail[0];
  }
  for (const std::vector<std::string>& both : std::vector<std::vector<std::string>>{
           {"--expert-cache", "1MB", "--experts", "mmap"},
           {"--expert-cache", "1MB", "--fit"},
           {"--expert-cache", "1MB", "--expert-pin", "1KB", "--no-expert-learning"},
           {"--experts", "packed", "--no-repack"},
           {"--pack-cache", "--no-repack"}}) {
    EXPECT_NE(refusal(both).find(" exclude each other: "), std::string::npos) << both[0];
  }
  for (const char* wrong : {"nan", "-0.5", "inf", "most"}) {
    EXPECT_NE(refusal({"--expert-top-p", wrong}).find("--expert-top-p: expected"),
              std::string::npos)
        << wrong;
  }
  EXPECT_NE(refusal({"--expert-cache", "1MB", "--expert-io-threads", "0"}).find("io-threads"),
            std::string::npos);
}

}  // namespace
}  // namespace maglio
