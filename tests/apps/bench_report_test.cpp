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
          .limit_gb_s = 18};
}

TEST(BenchReport, MeanAndDeviationAreOfTheSamples) {
  const BenchResult r = result();
  EXPECT_DOUBLE_EQ(r.mean_ns(), 750'000'000);
  EXPECT_DOUBLE_EQ(r.mean_ts(), 15);  // of 10 and 20
  EXPECT_NEAR(r.stddev_ts(), 7.0710678, 1e-6);
  EXPECT_DOUBLE_EQ(r.gb_s(), 9);
  BenchResult prompt = r;
  prompt.test.n_prompt = 5;
  EXPECT_EQ(prompt.gb_s(), 0);
}

TEST(BenchReport, JsonHasLlamaBenchsKeys) {
  const auto printer = bench_printer("json");
  std::string text = printer->header();
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
  EXPECT_EQ(lines(md->header()), 2);
  const std::string row = md->row(result());
  EXPECT_EQ(lines(row), 1);
  EXPECT_NE(row.find("tg10"), std::string::npos);
  EXPECT_NE(row.find("15.00 ± 7.07"), std::string::npos);
  EXPECT_NE(row.find("50 %"), std::string::npos);
}

}  // namespace
}  // namespace maglio::app
