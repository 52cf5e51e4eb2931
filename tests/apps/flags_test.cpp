#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "maglio/commands.h"
#include "maglio/error.h"
#include "maglio/run_flags.h"
#include "maglio/sampling_flags.h"

namespace maglio::app {
namespace {

RunFlags parse(std::vector<std::string> arguments) {
  CLI::App app;
  RunFlags flags;
  flags.add_to(app);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return flags;
}

TEST(Flags, UnsetSamplingKnobsKeepTheDefaults) {
  const SamplerConfig defaults{.temperature = 0.6f, .top_k = 20, .top_p = 0.95f};
  const RunFlags flags = parse({"m.gguf", "--seed", "7", "--top-k", "-1"});
  const SamplerConfig config = flags.sampling.resolve(defaults);
  EXPECT_EQ(config.temperature, 0.6f);
  EXPECT_EQ(config.top_k, -1);
  EXPECT_EQ(config.top_p, 0.95f);
  EXPECT_EQ(config.seed, 7u);
}

TEST(Flags, EverySamplingKnobCanBeSet) {
  const SamplerConfig config =
      parse({"m.gguf", "--temp", "0.5", "--top-k", "3", "--top-p", "0.25", "--min-p", "0.125",
             "--repeat-penalty", "1.5", "--repeat-last-n", "-1", "--frequency-penalty", "0.75",
             "--presence-penalty", "-0.5", "--seed", "0"})
          .sampling.resolve({});
  EXPECT_EQ(config, (SamplerConfig{0.5f, 3, 0.25f, 0.125f, 1.5f, 0.75f, -0.5f, -1, 0}));
}

TEST(Flags, WithoutASeedSamplingGetsAFreshOne_B89) {
  const SamplerConfig hot{.temperature = 1};
  const auto first = parse({"m.gguf"}).sampling.resolve(hot).seed;
  const auto second = parse({"m.gguf", "--seed", "-1"}).sampling.resolve(hot).seed;
  EXPECT_NE(first, second);
  EXPECT_LE(first, uint64_t{1} << 63);
  EXPECT_EQ(parse({"m.gguf"}).sampling.resolve({}).seed, 0u);  // greedy needs none
  EXPECT_THROW(parse({"m.gguf", "--seed", "-2"}), CLI::Error);
  EXPECT_THROW(parse({"m.gguf", "--seed", "9223372036854775808"}), CLI::Error);
}

TEST(Flags, TasksExcludeEachOther) {
  EXPECT_NO_THROW(parse({"m", "--chat", "x"}).check());
  EXPECT_THROW(parse({"m", "--chat", "x", "--prompt", "y"}).check(), CLI::ValidationError);
  EXPECT_THROW(parse({"m", "--repl", "--prompt-ids", "1"}).check(), CLI::ValidationError);
  EXPECT_THROW(parse({"m", "--verify-cache", "3"}).check(), CLI::ValidationError);
  EXPECT_THROW(parse({"m", "--repl", "--json"}).check(), CLI::ValidationError);
}

TEST(Flags, SpecialTokensAreReadInPromptsAndNotInChats) {
  using Specials = Tokenizer::Specials;
  EXPECT_EQ(parse({"m"}).prompt_specials(), Specials::parse);
  EXPECT_EQ(parse({"m"}).chat_specials(), Specials::plain);
  EXPECT_EQ(parse({"m", "--parse-special"}).chat_specials(), Specials::parse);
  EXPECT_EQ(parse({"m", "--no-parse-special"}).prompt_specials(), Specials::plain);
  EXPECT_EQ(parse({"m", "--normalize", "nfc"}).normalization(), Tokenizer::Normalization::nfc);
}

TEST(Flags, StopMayBeGivenAgainAndHoldsAnything) {
  EXPECT_EQ(parse({"m", "--stop", "a,b", "--stop", "\n\n"}).stop,
            (std::vector<std::string>{"a,b", "\n\n"}));
}

TEST(Flags, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(parse({"m", "--cache-type", "q4_0"}), CLI::Error);
  EXPECT_EQ(parse({"m", "--cache-type", "q8_0"}).cache(), CacheFormat::q8_0);
  EXPECT_THROW(parse({"m", "--gen", "-2"}), CLI::Error);
  EXPECT_THROW(parse({"m", "--max-tokens", "1.5"}), CLI::Error);
  EXPECT_THROW(parse({"m", "--threads", "-1"}), CLI::Error);
  EXPECT_THROW(parse({}), CLI::Error);
}

// What the program says to a value of an option.
std::string complaint(CLI::App& app,
                      const std::string& command,
                      std::string option,
                      std::string value) {
  try {
    app.parse({std::move(value), std::move(option), "m", command});  // from the last to the first
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Flags, EveryNumberNamesItsFlagWhatItTakesAndWhatItFound) {
  CLI::App app;
  add_run_command(app);
  add_tokenize_command(app);
  add_template_command(app);
  add_info_command(app);
  add_bench_command(app);
  size_t n_numbers = 0;
  for (CLI::App* command : app.get_subcommands({})) {
    for (CLI::Option* option : command->get_options()) {
      const std::string type = option->get_type_name();
      const bool is_number =
          type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
      if (!is_number || option->get_items_expected_max() == 0) continue;
      ++n_numbers;
      const std::string name = "--" + option->get_lnames().at(0);
      for (const char* value : {"abc", "1e999", "", "0x"}) {
        const std::string said = complaint(app, command->get_name(), name, value);
        EXPECT_TRUE(said.starts_with(name + ": expected a ")) << said;
        EXPECT_NE(said.find(std::string("found '") + value + "': write it like "),
                  std::string::npos)
            << said;
      }
    }
  }
  EXPECT_GE(n_numbers, 18u);
}

TEST(Flags, ANumberOutOfItsRangeSaysTheRange) {
  CLI::App app;
  add_run_command(app);
  EXPECT_EQ(complaint(app, "run", "--threads", "1025"),
            "--threads: expected a whole number from 0 to 1024, found '1025': write it like 0");
  EXPECT_EQ(complaint(app, "run", "--expert-top-p", "-1"),
            "--expert-top-p: expected a number from 0 to 1e+06, found '-1': write it like 0.5");
  EXPECT_EQ(complaint(app, "run", "--temp", "nan"),
            "--temp: expected a number, found 'nan': write it like 0.5");
}

TEST(Flags, WhatFitChoosesIsAdoptedAndWhatWasAskedForStays) {
  RunFlags flags = parse({"m.gguf", "--fit", "--no-expert-learning", "--expert-eviction", "lru"});
  flags.check();
  Fitted fitted;
  fitted.is_mixture = true;
  fitted.plan.experts = WeightStorage::mapped;
  fitted.plan.expert_cache_bytes = 5000;
  flags.storage.adopt(fitted);
  const LoadOptions on_demand = flags.load_options();
  ASSERT_TRUE(on_demand.expert_cache);
  EXPECT_EQ(on_demand.expert_cache->bytes, 5000u);
  EXPECT_FALSE(on_demand.expert_cache->learn);
  EXPECT_EQ(on_demand.expert_cache->eviction, ExpertEviction::least_recent);
  EXPECT_EQ(flags.storage.unused_note(), "");

  RunFlags without = parse({"m.gguf", "--fit", "--no-expert-learning"});
  fitted.plan.expert_cache_bytes = 0;
  without.storage.adopt(fitted);
  EXPECT_FALSE(without.load_options().expert_cache);
  EXPECT_EQ(without.load_options().experts, WeightStorage::mapped);
  EXPECT_NE(without.storage.unused_note().find("--no-expert-learning changes nothing"),
            std::string::npos);

  RunFlags dense = parse({"m.gguf", "--fit"});
  dense.storage.adopt({});
  EXPECT_EQ(dense.load_options().experts, WeightStorage::automatic) << "it has none";
  EXPECT_EQ(dense.storage.unused_note(), "");
}

}  // namespace
}  // namespace maglio::app
