#include "maglio/bench_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "maglio/bench_plot.h"
#include "maglio/bench_svg.h"
#include "maglio/error.h"
#include "support/xml_check.h"

namespace maglio::app {
namespace {

constexpr const char* kOurs = R"([
  {"build_commit": "abc", "isa": "avx2", "cpu_info": "A <CPU> & more", "model_type": "m",
   "n_threads": 2, "n_prompt": 16, "n_gen": 0, "n_depth": 0, "samples_ts": [90, 200, 100]},
  {"build_commit": "abc", "isa": "avx2", "cpu_info": "A <CPU> & more", "model_type": "m",
   "n_threads": 2, "n_prompt": 0, "n_gen": 32, "n_depth": 512, "samples_ts": [30, 40]},
  {"build_commit": "abc", "isa": "avx2", "cpu_info": "A <CPU> & more", "model_type": "m",
   "n_threads": 2, "n_prompt": 0, "n_gen": 32, "n_depth": 512, "n_streams": 8,
   "samples_ts": [300]}])";
constexpr const char* kTheirs = R"([
  {"build_commit": "def", "n_threads": 2, "n_prompt": 16, "n_gen": 0, "n_depth": 0,
   "samples_ts": [80]},
  {"build_commit": "def", "n_threads": 2, "n_prompt": 0, "n_gen": 32, "n_depth": 512,
   "samples_ts": [50]}])";

TEST(BenchSweep, HasFortyLengthsInNamedGroups) {
  const std::vector<size_t> lengths = sweep_lengths();
  EXPECT_EQ(lengths.size(), 40u);
  EXPECT_TRUE(std::ranges::is_sorted(lengths));
  EXPECT_EQ(std::set<size_t>(lengths.begin(), lengths.end()).size(), 40u);
  EXPECT_EQ(lengths.front(), 1u);
  EXPECT_EQ(lengths.back(), 1024u);
  for (const size_t length : lengths) EXPECT_NE(sweep_group_of(length), "") << length;
  EXPECT_EQ(sweep_group_of(17), "sixteen");
  EXPECT_EQ(sweep_group_of(18), "");
}

TEST(BenchSweep, ThePageOnBenchListsEveryGroup) {
  std::ifstream file(std::string(MAGLIO_SOURCE_DIR) + "/docs/bench.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const SweepGroup& group : sweep_groups()) {
    std::string lengths;
    for (const size_t n : group.lengths) {
      lengths += (lengths.empty() ? "" : ", ") + std::to_string(n);
    }
    const std::string row =
        "| " + std::string(group.name) + " | " + lengths + " | " + std::string(group.why) + " |";
    EXPECT_NE(page.str().find(row), std::string::npos) << row;
  }
}

TEST(BenchSweep, MeasuresLengthsFirstAndThenEachDepth) {
  const BenchTest base{.model = "a.gguf", .n_threads = 2};
  const std::vector<size_t> depths = {0, 512};
  const auto tests = sweep_tests(base, depths, 4);
  ASSERT_EQ(tests.size(), 43u);
  EXPECT_EQ(tests[0].name(), "pp1");
  EXPECT_EQ(tests[39].name(), "pp1024");
  EXPECT_EQ(tests[40].name(), "tg4");
  EXPECT_EQ(tests[41].name(), "pp128 @ d512");
  EXPECT_EQ(tests[42].name(), "tg4 @ d512");
  EXPECT_EQ(tests[42].model, "a.gguf");
}

TEST(BenchSweep, SpeedsAreMediansOfTheSamplesOfOneStream) {
  const SweepRun run = parse_run(kOurs, "ours.json");
  EXPECT_EQ(run.engine, "maglio abc, avx2");
  EXPECT_EQ(run.model, "m");
  ASSERT_EQ(run.points.size(), 2u);
  EXPECT_EQ(run.points[0].ts, 100);
  EXPECT_EQ(run.points[1].ts, 35);
  EXPECT_EQ(parse_run(kTheirs, "theirs.json").engine, "llama.cpp def");
}

TEST(BenchSweep, ComparesWhatBothHaveMeasuredAndNamesTheLowestRatio) {
  const SweepRun ours = parse_run(kOurs, "o"), theirs = parse_run(kTheirs, "t");
  const auto ratios = compare_runs(ours, theirs);
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_DOUBLE_EQ(ratios[0].ratio(), 1.25);
  EXPECT_DOUBLE_EQ(ratios[1].ratio(), 0.7);
  const std::string table = comparison_table(ours, theirs);
  EXPECT_NE(table.find("| pp16 | sixteen | 100.0 | 80.0 | 1.25 |"), std::string::npos) << table;
  EXPECT_NE(table.find("lowest ratio of 2 is 0.70, at tg32 @ d512"), std::string::npos) << table;
  SweepRun other = theirs;
  other.points = {{.n_prompt = 7, .n_gen = 0, .n_depth = 0, .ts = 1}};
  EXPECT_NE(comparison_table(ours, other).find("no test in common"), std::string::npos);
}

TEST(BenchSweep, RefusesWhatIsNoBenchOutput) {
  for (const char* text :
       {"", "{}", "[]", "[1]", R"([{"n_prompt": 1}])", R"([{"n_prompt": -1}])",
        R"([{"n_prompt": 1, "n_gen": 0, "n_depth": 0, "n_threads": 1, "samples_ts": []}])",
        R"([{"n_prompt": 1, "n_gen": 0, "n_depth": 0, "n_threads": 1, "samples_ts": [0]}])",
        R"([{"n_prompt": 1, "n_gen": 0, "n_depth": 0, "samples_ts": [1]}])"}) {
    try {
      parse_run(text, "file.json");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "BadBenchJson");
      EXPECT_NE(error.message().find("file.json"), std::string::npos);
    }
  }
}

TEST(BenchPlot, IsWellFormedAndHasAPointForEachSpeed) {
  const SweepRun ours = parse_run(kOurs, "o"), theirs = parse_run(kTheirs, "t");
  const auto count = [](const std::string& text, const std::string& what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  const std::string alone = sweep_svg(ours, std::nullopt);
  EXPECT_EQ(test::xml_fault(alone), "");
  EXPECT_EQ(count(alone, "<circle"), 1u + 2u);  // the legend's, and the points
  EXPECT_EQ(count(alone, "class=\"m1\""), 0u);
  EXPECT_NE(alone.find("A &lt;CPU&gt; &amp; more"), std::string::npos);
  EXPECT_NE(alone.find("prefers-color-scheme: dark"), std::string::npos);

  const std::string both = sweep_svg(ours, theirs);
  EXPECT_EQ(test::xml_fault(both), "");
  EXPECT_EQ(count(both, "<circle"), 1u + 2u + 1u);  // and one ratio over the lengths
  EXPECT_EQ(count(both, "class=\"m1\""), 1u + 2u);
  EXPECT_NE(both.find("<title>16: 1.25</title>"), std::string::npos);
  EXPECT_NE(both.find(">0.70</text>"), std::string::npos);  // under the depth
  EXPECT_EQ(count(both, "class=\"level\""), 1u);
}

TEST(BenchPlot, WithoutPointsThereIsOnlyATitle) {
  EXPECT_EQ(test::xml_fault(sweep_svg({.engine = "e", .model = "m", .cpu = "c"}, std::nullopt)),
            "");
}

TEST(BenchSvg, LogarithmicAxesSpaceEqualRatiosEqually) {
  const PlotAxis axis{.label = "", .scale = AxisScale::logarithmic, .low = 1, .high = 1024};
  EXPECT_DOUBLE_EQ(axis.position(1), 0);
  EXPECT_DOUBLE_EQ(axis.position(32), 0.5);
  EXPECT_DOUBLE_EQ(axis.position(1024), 1);
  EXPECT_DOUBLE_EQ((PlotAxis{.label = "", .low = 10, .high = 30}.position(15)), 0.25);
}

TEST(BenchSvg, TicksAreRoundNumbers) {
  const auto values = [](const std::vector<PlotTick>& ticks) {
    std::string text;
    for (const PlotTick& tick : ticks) text += tick.text + " ";
    return text;
  };
  EXPECT_EQ(values(decade_ticks(25, 320)), "50 100 200 ");
  EXPECT_EQ(values(even_ticks(1.67)), "0 0.5 1 1.5 2 ");
  EXPECT_EQ(values(even_ticks(36)), "0 10 20 30 40 ");
  EXPECT_EQ(values(even_ticks(202)), "0 50 100 150 200 250 ");
}

TEST(XmlCheck, NamesWhatIsWrong) {
  EXPECT_EQ(test::xml_fault("<a b=\"c\"><d/>x &amp; y</a>\n"), "");
  for (const char* bad : {"", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&</a>", "<a b=c/>",
                          "<a b=\"<\"/>", "<a", "<a></a>x"}) {
    EXPECT_NE(test::xml_fault(bad), "") << bad;
  }
}

}  // namespace
}  // namespace maglio::app
