#include "maglio/answer_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace maglio::app {
namespace {

TEST(AnswerJson, IsOneObjectWithEveryField) {
  Reply reply;
  reply.text = "a\"\n\t\x01 日本";
  reply.ids = {1, 2, 3};
  reply.finish = FinishReason::stop;
  reply.stop_string = 1;
  reply.prompt_tokens = 10;
  reply.cached_tokens = 4;
  reply.prompt_ms = 60;
  reply.generation_ms = 100;
  const std::string text = answer_json({reply, {"x", "END"}, 42, 5});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const boost::json::object o = boost::json::parse(text).as_object();
  EXPECT_EQ(o.at("text").as_string(), reply.text);
  EXPECT_EQ(o.at("ids").as_array().size(), 3u);
  EXPECT_EQ(o.at("finish_reason").as_string(), "stop");
  EXPECT_EQ(o.at("stop_sequence").as_string(), "END");
  EXPECT_EQ(o.at("prompt_tokens").to_number<int>(), 10);
  EXPECT_EQ(o.at("cached_tokens").to_number<int>(), 4);
  EXPECT_EQ(o.at("generated_tokens").to_number<int>(), 3);
  EXPECT_EQ(o.at("seed").to_number<int>(), 42);
  const boost::json::object& timings = o.at("timings").as_object();
  EXPECT_EQ(timings.at("load_ms").to_number<double>(), 5);
  EXPECT_EQ(timings.at("prompt_per_second").to_number<double>(), 100);
  EXPECT_EQ(timings.at("gen_per_second").to_number<double>(), 20);
}

TEST(AnswerJson, SpeculationIsThereWhereItWasOn) {
  Reply reply;
  const std::vector<std::string> none;
  EXPECT_FALSE(
      boost::json::parse(answer_json({reply, none, 0, 0})).as_object().contains("speculation"));
  reply.speculation = {.verify_steps = 3, .plain_steps = 4, .gated_off = 2, .bonus = 1};
  reply.speculation->sources[static_cast<size_t>(DraftSource::reference)] = {9, 7};
  const auto o = boost::json::parse(answer_json({reply, none, 0, 0})).at("speculation");
  EXPECT_EQ(o.at("steps").to_number<int>(), 7);
  EXPECT_EQ(o.at("verify_steps").to_number<int>(), 3);
  EXPECT_EQ(o.at("plain_steps").to_number<int>(), 4);
  EXPECT_EQ(o.at("gated_off").to_number<int>(), 2);
  EXPECT_EQ(o.at("drafted").to_number<int>(), 9);
  EXPECT_EQ(o.at("accepted").to_number<int>(), 7);
  EXPECT_EQ(o.at("bonus").to_number<int>(), 1);
  EXPECT_EQ(o.at("sources").at("reference").at("accepted").to_number<int>(), 7);
  EXPECT_EQ(o.at("sources").at("recycled").at("drafted").to_number<int>(), 0);
}

TEST(AnswerJson, StopSequenceIsNullWithoutAStopString) {
  const std::vector<std::string> none;
  EXPECT_TRUE(boost::json::parse(answer_json({{}, none, 0, 0})).at("stop_sequence").is_null());
}

}  // namespace
}  // namespace maglio::app
