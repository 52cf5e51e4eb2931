// `maglio bench` as a user runs it, on a model made on the spot.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "support/program.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"
#include "support/xml_check.h"

namespace maglio {
namespace {

namespace json = boost::json;
using test::ProgramResult;

class Bench : public testing::Test {
 protected:
  void SetUp() override {
    test::SyntheticModel{.config = test::tiny_config(Architecture::qwen3)}.builder().write(model_);
  }
  ProgramResult bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {MAGLIO_BINARY, "bench"});
    return test::run_program(arguments);
  }
  static std::string read(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  const test::TempDir dir_;
  const std::string model_ = (dir_ / "model.gguf").string();
};

TEST_F(Bench, StreamsStandBesideOneAndTheirBound) {
  const ProgramResult f = bench(
      {model_, "-p", "0", "-n", "3", "-npl", "3", "-d", "70", "-r", "2", "-t", "1", "-o", "json"});
  ASSERT_EQ(f.exit_code, 0) << f.err;
  const json::array rows = json::parse(f.out).as_array();
  ASSERT_EQ(rows.size(), 2u);
  const auto number = [&](size_t row, const char* key) {
    return rows[row].as_object().at(key).to_number<double>();
  };
  EXPECT_EQ(number(0, "n_streams"), 1);
  EXPECT_EQ(number(1, "n_streams"), 3);
  EXPECT_EQ(number(1, "one_stream_ts"), number(0, "avg_ts"));
  EXPECT_EQ(number(1, "work_macs_a16"), 3 * number(0, "work_macs_a16"));
  // 71, 72 and 73 positions of 2 layers, 2 heads, 32 channels, f16 keys and values: the other two
  // streams read them once more.
  EXPECT_EQ(number(1, "work_bytes") - number(0, "work_bytes"), 2.0 * (71 + 72 + 73) * 512);
  for (size_t row : {0, 1}) {
    for (const char* key : {"read_share", "peak_share", "bound_ts", "limit_gb_per_second"}) {
      EXPECT_GT(number(row, key), 0) << key;
    }
  }
}

TEST_F(Bench, ASweepIsPrintedDrawnAndDrawnAgainBesideAnother) {
  const std::string plot = (dir_ / "a.svg").string(), again = (dir_ / "b.svg").string();
  const std::string results = (dir_ / "results.json").string();
  const ProgramResult f = bench({model_, "--sweep", "-d", "0,64", "-n", "2", "-r", "1", "-t", "1",
                                 "-o", "json", "--plot", plot});
  ASSERT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(json::parse(f.out).as_array().size(), 43u);
  EXPECT_EQ(test::xml_fault(read(plot)), "");

  std::ofstream(results) << f.out;
  const ProgramResult both = bench({"--from", results, "--versus", results, "--plot", again});
  ASSERT_EQ(both.exit_code, 0) << both.err;
  EXPECT_NE(both.out.find("The lowest ratio of 43 is 1.00"), std::string::npos) << both.out;
  EXPECT_EQ(test::xml_fault(read(again)), "");
}

TEST_F(Bench, APlanIsPrintedAndNothingMeasured) {
  const ProgramResult f = bench({"absent.gguf", "-p", "5", "-n", "2", "-npl", "4", "--plan"});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_EQ(f.out, "pp5\ntg2\ntg2 x4\n");
}

TEST_F(Bench, RefusesResultsThatCannotBeRead) {
  EXPECT_EQ(bench({"--from", (dir_ / "absent.json").string()}).exit_code, 1);
  EXPECT_EQ(bench({model_, "--sweep", "--versus", model_}).exit_code, 1);
  EXPECT_EQ(bench({model_, "--plot", "x.svg"}).exit_code, 2);
}

}  // namespace
}  // namespace maglio
