#include "maglio/bench_report.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

namespace maglio::app {
namespace {

BenchResult result() {
  return {.test = {.model = "a\"b.gguf", .n_threads = 2, .n_gen = 10},
          .model_type = "qwen3 0.60B Q8_0",
          .model_size = 600'000'000,
          .n_parameters = 596'000'000,
          .cpu = "CPU",
          .isa = "scalar",
          .test_time = "2026-01-02T03:04:05Z",
          .samples_ns = {1'000'000'000, 500'000'000},
          .work = {.macs = {3'000'000'000, 2'000'000'000, 0, 0}, .bytes = 6'000'000'000},
          .limits = {.n_threads = 2,
                     .read = {{1, 10}, {2, 18}},
                     .one_thread = {5, 10, 20, 20},
                     .all_threads = {10, 20, 40, 40}},
          .one_stream_ts = {}};
}

TEST(BenchReport, MeanAndDeviationAreOfTheSamples) {
  const BenchResult r = result();
  EXPECT_DOUBLE_EQ(r.mean_ns(), 750'000'000);
  EXPECT_DOUBLE_EQ(r.mean_ts(), 15);  // of 10 and 20
  EXPECT_NEAR(r.stddev_ts(), 7.0710678, 1e-6);
}

// 10 tokens at 15 a second take 2/3 s, in which 6 GB are read and 5 G multiply-adds done. At the
// limits reading takes 1/3 s, and multiplying 3/10 + 2/20 s.
TEST(BenchReport, SharesAreTimeAtTheLimitOverTimeTaken) {
  const BenchResult r = result();
  EXPECT_DOUBLE_EQ(r.gb_s(), 9);
  EXPECT_DOUBLE_EQ(r.read_share(), 0.5);
  EXPECT_DOUBLE_EQ(r.gmac_s(), 7.5);
  EXPECT_DOUBLE_EQ(r.peak_share(), 0.6);
  EXPECT_DOUBLE_EQ(r.bound_ts(), 25);  // the longer of the two is 0.4 s
  BenchResult prompt = r;
  prompt.test.n_gen = 0;
  prompt.test.n_prompt = 10;
  EXPECT_EQ(prompt.gb_s(), 0);
  EXPECT_EQ(prompt.read_share(), 0);
  EXPECT_DOUBLE_EQ(prompt.gmac_s(), 7.5);
}

TEST(BenchReport, StreamsCountTogetherAndStandBesideOne) {
  BenchResult r = result();
  r.test.n_streams = 4;
  r.one_stream_ts = 20;
  EXPECT_DOUBLE_EQ(r.mean_ts(), 60);
  const std::string head = bench_printer("md", true)->header({r.limits}, "scalar");
  EXPECT_NE(head.find("of one"), std::string::npos);
  EXPECT_NE(head.find("reading 10.0 GB/s with 1 thread, 18.0 GB/s with 2 threads"),
            std::string::npos);
  const std::string row = bench_printer("md", true)->row(r);
  EXPECT_NE(row.find(" tg10 x4 |"), std::string::npos) << row;
  EXPECT_NE(row.find("|   3.00 |     100.0 |"), std::string::npos) << row;
}

TEST(BenchReport, JsonHasLlamaBenchsKeys) {
  const auto printer = bench_printer("json");
  std::string text = printer->header({}, "scalar");
  text += printer->row(result());
  text += printer->row(result());
  text += printer->footer();
  const boost::json::array rows = boost::json::parse(text).as_array();
  ASSERT_EQ(rows.size(), 2u);
  const boost::json::object& row = rows[0].as_object();
  for (const char* key :
       {"build_commit", "build_number",   "cpu_info",  "model_filename", "model_type",
        "model_size",   "model_n_params", "n_batch",   "n_ubatch",       "n_threads",
        "type_k",       "type_v",         "n_prompt",  "n_gen",          "n_depth",
        "test_time",    "avg_ns",         "stddev_ns", "avg_ts",         "stddev_ts",
        "samples_ns",   "samples_ts"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_EQ(row.at("model_filename").as_string(), "a\"b.gguf");
  EXPECT_EQ(row.at("avg_ns").to_number<int64_t>(), 750'000'000);
  EXPECT_EQ(row.at("samples_ns").as_array().size(), 2u);
}

TEST(BenchReport, JsonHasTheLimitsAndTheirShares) {
  const auto text = bench_printer("jsonl")->row(result());
  const boost::json::object row = boost::json::parse(text).as_object();
  const auto number = [&](const char* key) { return row.at(key).to_number<double>(); };
  EXPECT_DOUBLE_EQ(number("gb_per_second"), 9);
  EXPECT_DOUBLE_EQ(number("read_share"), 0.5);
  EXPECT_DOUBLE_EQ(number("gmac_per_second"), 7.5);
  EXPECT_DOUBLE_EQ(number("peak_share"), 0.6);
  EXPECT_DOUBLE_EQ(number("bound_ts"), 25);
  EXPECT_EQ(number("n_streams"), 1);
  EXPECT_EQ(number("work_bytes"), 6e9);
  EXPECT_EQ(number("work_macs_a16"), 2e9);
  EXPECT_EQ(number("limit_gb_per_second"), 18);
  EXPECT_EQ(number("limit_gb_per_second_one_thread"), 10);
  EXPECT_EQ(number("limit_gmac_per_second_a8k"), 40);
  EXPECT_EQ(number("limit_gmac_per_second_a8k_one_thread"), 20);
}

TEST(BenchReport, EveryFormatPrintsOneRowAResult) {
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto jsonl = bench_printer("jsonl");
  EXPECT_EQ(lines(jsonl->row(result())), 1);
  const auto csv = bench_printer("csv");
  EXPECT_EQ(lines(csv->row(result())), 2);  // with the head
  const std::string second = csv->row(result());
  EXPECT_EQ(lines(second), 1);
  EXPECT_NE(second.find("\"a\"\"b.gguf\""), std::string::npos);
  const auto md = bench_printer("md");
  EXPECT_EQ(lines(md->header({}, "scalar")), 2);
  const std::string row = md->row(result());
  EXPECT_EQ(lines(row), 1);
  EXPECT_NE(row.find("tg10"), std::string::npos);
  EXPECT_NE(row.find("15.00 ± 7.07"), std::string::npos);
  EXPECT_NE(row.find("|    9.0 |    50 % |    7.5 |    60 % |"), std::string::npos) << row;
}

}  // namespace
}  // namespace maglio::app
