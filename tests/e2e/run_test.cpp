#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/successor_model.h"
#include "support/synthetic_model.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::ProgramResult;
using test::SuccessorModel;

class Run : public testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments,
                    std::string_view in = {},
                    const test::Environment& environment = {}) {
    const std::string path = dir_ / "model.gguf";
    model_.write(path);
    arguments.insert(arguments.begin(), {MAGLIO_BINARY, "run", path});
    if (std::find(arguments.begin(), arguments.end(), "--threads") == arguments.end()) {
      arguments.insert(arguments.end(), {"--threads", "1"});
    }
    return test::run_program(arguments, in, environment);
  }
  boost::json::object json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const ProgramResult f = run(std::move(arguments));
    EXPECT_EQ(f.exit_code, 0) << f.err;
    return boost::json::parse(f.out).as_object();
  }

  test::TempDir dir_;
  SuccessorModel model_;
};

std::string text_of(const boost::json::object& o) {
  return std::string(o.at("text").as_string());
}
std::string finish_of(const boost::json::object& o) {
  return std::string(o.at("finish_reason").as_string());
}
int64_t number(const boost::json::object& o, const char* key) {
  return o.at(key).to_number<int64_t>();
}

TEST_F(Run, ChatPrintsTheAnswerAndNothingElseOnStdout) {
  model_.answers("Paris");
  const ProgramResult f = run({"--chat", "Capital?", "--temp", "0"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, "Paris\n");
  EXPECT_EQ(f.err, "");
}

TEST_F(Run, PipeIsAQuestion) {
  model_.answers("Paris");
  const ProgramResult f = run({"--temp", "0"}, "Capital?\n");
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, "Paris\n");
}

TEST_F(Run, SamplingPrintsItsSeedAndTakesItBack) {
  model_.answers("Paris");
  const ProgramResult fresh = run({"--chat", "x"});
  EXPECT_TRUE(fresh.err.starts_with("seed ")) << fresh.err;
  EXPECT_EQ(run({"--chat", "x", "--seed", "5"}).err, "seed 5\n");
  EXPECT_EQ(number(json({"--chat", "x", "--seed", "5"}), "seed"), 5);
}

TEST_F(Run, JsonCountsTokens) {
  model_.answers("Paris");
  const auto o = json({"--chat", "x", "--temp", "0"});
  EXPECT_EQ(text_of(o), "Paris");
  EXPECT_EQ(finish_of(o), "stop");
  EXPECT_EQ(number(o, "generated_tokens"), 5);
  EXPECT_EQ(o.at("ids").as_array().size(), 5u);
  EXPECT_EQ(number(o, "cached_tokens"), 0);
  // <|im_start|> user \n x <|im_end|> \n <|im_start|> assistant \n, a byte a token
  EXPECT_EQ(number(o, "prompt_tokens"), 1 + 4 + 1 + 1 + 1 + 1 + 1 + 9 + 1);
  EXPECT_TRUE(o.at("stop_sequence").is_null());
}

TEST_F(Run, StopStringOverSeveralTokens_B34_B35) {
  model_.answers("ABCDEFGHIJK");
  const auto stopped = json({"--chat", "x", "--temp", "0", "--stop", "zz", "--stop", "DEFGHIJ"});
  EXPECT_EQ(text_of(stopped), "ABC");
  EXPECT_EQ(finish_of(stopped), "stop");
  EXPECT_EQ(stopped.at("stop_sequence").as_string(), "DEFGHIJ");
  const auto cut = json({"--chat", "x", "--temp", "0", "--stop", "DEFGHIJ", "--max-tokens", "7"});
  EXPECT_EQ(text_of(cut), "ABCDEFG");
  EXPECT_EQ(finish_of(cut), "length");
}

TEST_F(Run, CharactersSplitOverTokens_B30) {
  const std::string text = "\u2460\u00e9";  // no byte twice
  model_.answers(text);
  EXPECT_EQ(run({"--chat", "x", "--temp", "0"}).out, text + "\n");
}

TEST_F(Run, LimitInsideACharacterIsNotFatal_B32) {
  model_.answers("\u2460");
  const auto o = json({"--chat", "x", "--temp", "0", "--max-tokens", "1"});
  EXPECT_EQ(text_of(o), "\uFFFD");
  EXPECT_EQ(finish_of(o), "length");
  EXPECT_EQ(number(o, "generated_tokens"), 1);
}

TEST_F(Run, BothEndTokensEndAnAnswer_B26) {
  for (TokenId end : {SuccessorModel::kEndOfText, SuccessorModel::kEndOfTurn}) {
    model_.after('\n', end);
    const auto o = json({"--chat", "x", "--temp", "0"});
    EXPECT_EQ(text_of(o), "");
    EXPECT_EQ(finish_of(o), "stop");
  }
}

TEST_F(Run, PromptIsContinuedGreedily) {
  model_.after('a', 'b').after('b', 'c').after('c', 'd').after('d', 'a');
  EXPECT_EQ(run({"--prompt", "xa", "--gen", "6"}).out, "bcdabc\n");
  EXPECT_EQ(run({"--prompt-ids", "120, 97", "--gen", "2"}).out, "bc\n");
  std::ofstream(dir_ / "prompt.txt") << "x\na";
  EXPECT_EQ(run({"--prompt-file", dir_ / "prompt.txt", "--gen", "3"}).out, "bcd\n");
  EXPECT_EQ(json({"--prompt", "a"}).at("ids").as_array().size(), 128u);  // the default
}

TEST_F(Run, PromptEndsAtAnEndTokenUnlessToldOtherwise) {
  model_.after('a', 'b')
      .after('b', SuccessorModel::kEndOfText)
      .after(SuccessorModel::kEndOfText, 'a');
  const auto ends = json({"--prompt", "a", "--gen", "5"});
  EXPECT_EQ(text_of(ends), "b");
  EXPECT_EQ(finish_of(ends), "stop");
  const auto goes_on = json({"--prompt", "a", "--gen", "5", "--ignore-eos"});
  EXPECT_EQ(text_of(goes_on), "bab");
  EXPECT_EQ(number(goes_on, "generated_tokens"), 5);
  EXPECT_EQ(finish_of(goes_on), "length");
}

TEST_F(Run, ContextFullAndLastPlaces_B95_B96) {
  model_.after('a', 'a');
  const auto fill = json({"--prompt", std::string(57, 'a'), "--gen", "-1", "--ctx", "64"});
  EXPECT_EQ(number(fill, "generated_tokens"), 7);
  EXPECT_EQ(finish_of(fill), "length");
  EXPECT_EQ(number(json({"--prompt", std::string(63, 'a'), "--ctx", "64"}), "generated_tokens"), 1);
  const ProgramResult full = run({"--prompt", std::string(64, 'a'), "--ctx", "64"});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.err.find("64"), std::string::npos);
  EXPECT_EQ(run({"--chat", std::string(600, 'a')}).exit_code, 1);  // the model's own 512
}

TEST_F(Run, ExactTokenCounts_B93) {
  model_.after('\n', 'a').after('a', 'a');
  for (int n : {0, 1, 2, 3}) {
    const auto o = json({"--chat", "x", "--temp", "0", "--max-tokens", std::to_string(n)});
    EXPECT_EQ(number(o, "generated_tokens"), n);
    EXPECT_EQ(finish_of(o), "length");
  }
  EXPECT_EQ(run({"--chat", "x", "--max-tokens", "-2"}).exit_code, 2);
}

TEST_F(Run, WhatAUserTypesIsNoControlToken_B17) {
  model_.answers("k");
  const std::string typed = "<|im_end|>";
  const auto plain = json({"--chat", typed, "--temp", "0"});
  const auto parsed = json({"--chat", typed, "--temp", "0", "--parse-special"});
  EXPECT_EQ(number(plain, "prompt_tokens"), number(parsed, "prompt_tokens") + 9);
  // In a prompt it is one, unless told otherwise.
  const auto prompt = json({"--prompt", typed, "--gen", "1"});
  EXPECT_EQ(number(prompt, "prompt_tokens"), 1);
  EXPECT_EQ(number(json({"--prompt", typed, "--gen", "1", "--no-parse-special"}), "prompt_tokens"),
            10);
}

TEST_F(Run, NoThinkWritesAnEmptyThought_B40) {
  model_.answers("k");
  model_.chat_template +=  // as Qwen3's own ends
      "{% if enable_thinking is defined and enable_thinking is false %}"
      "{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}";
  // The native template takes the tags for tokens; in this vocabulary they are ordinary ones, which
  // text never becomes, so the file's own template writes 15 letters.
  const std::pair<const char*, int> expected[] = {{"native", 2 + 4}, {"file", 15 + 4}};
  for (const auto& [choice, n_more] : expected) {
    const auto thinks = json({"--chat", "x", "--temp", "0", "--chat-template", choice});
    const auto not_so =
        json({"--chat", "x", "--temp", "0", "--no-think", "--chat-template", choice});
    EXPECT_EQ(number(not_so, "prompt_tokens") - number(thinks, "prompt_tokens"), n_more) << choice;
  }
}

TEST_F(Run, SystemMessageIsATurnBefore) {
  model_.answers("k");
  const auto without = json({"--chat", "x", "--temp", "0"});
  EXPECT_EQ(number(json({"--chat", "x", "--temp", "0", "--system", "S"}), "prompt_tokens"),
            number(without, "prompt_tokens") + 1 + 7 + 1 + 1 + 1);
  EXPECT_EQ(number(json({"--chat", "x", "--temp", "0", "--system", ""}), "prompt_tokens"),
            number(without, "prompt_tokens"));
}

TEST_F(Run, EnvironmentTwinsAreDefaults) {
  model_.after('a', 'a');
  const ProgramResult f = run({"--prompt", "a"}, "", {{"MAGLIO_GEN", "3"}});
  EXPECT_EQ(f.out, "aaa\n");
  EXPECT_EQ(run({"--prompt", "a", "--gen", "2"}, "", {{"MAGLIO_GEN", "3"}}).out, "aa\n");
  EXPECT_TRUE(run({"--prompt", "a"}, "", {{"MAGLIO_JSON", "1"}}).out.starts_with("{"));
}

TEST_F(Run, FitChoosesWhatIsNotGivenAndSaysIt) {
  model_.after('a', 'a');
  const ProgramResult f = run({"--prompt", "a", "--gen", "3", "--fit"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, "aaa\n");
  EXPECT_TRUE(f.err.starts_with("--fit: --ctx 512 --cache-type f16: ")) << f.err;
  EXPECT_EQ(std::ranges::count(f.err, '\n'), 1) << f.err;
  const ProgramResult given =
      run({"--prompt", "a", "--gen", "3", "--fit", "--ctx", "100", "--cache-type", "q8_0"});
  EXPECT_TRUE(given.err.starts_with("--fit: --ctx 100 --cache-type q8_0: ")) << given.err;
  const ProgramResult mapped = run({"--prompt", "a", "--gen", "3", "--fit", "--no-repack"});
  EXPECT_TRUE(mapped.err.starts_with("--fit: --ctx 512 --cache-type f16 --no-repack: "))
      << mapped.err;
}

TEST_F(Run, WhatCannotFitIsRefusedWithWhatThereIs) {
  model_.after('a', 'a');
  const ProgramResult f = run({"--prompt", "a", "--fit", "--ctx", "4294967296"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(f.out, "");
  EXPECT_NE(f.err.find("--fit: expected a way to run this model in the "), std::string::npos)
      << f.err;
  EXPECT_EQ(run({"--prompt", "a", "--fit", "--pack-cache"}).exit_code, 2);
}

TEST_F(Run, SamplingDefaultsOfTheFileAreHonoured) {
  model_.answers("Paris").meta(
      [](test::GgufBuilder& file) { file.f32("general.sampling.temp", 0.0f); });
  const ProgramResult f = run({"--chat", "x"});
  EXPECT_EQ(f.out, "Paris\n");
  EXPECT_EQ(f.err, "");  // greedy: no seed
}

TEST_F(Run, TokenizeOraclePrintsOneIdALine) {
  std::ofstream(dir_ / "text.txt") << "hi<|im_end|>";
  EXPECT_EQ(run({"--tokenize", dir_ / "text.txt"}).out, "104\n105\n258\n");
  EXPECT_EQ(run({"--tokenize", dir_ / "text.txt", "--no-parse-special"}).out.substr(0, 8),
            "104\n105\n");
}

TEST_F(Run, LogitsCanBeWrittenAndCompared) {
  model_.after('a', 'b');
  const std::string path = dir_ / "logits.bin";
  const ProgramResult written = run({"--prompt", "xa", "--logits-out", path});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(std::filesystem::file_size(path), 288u * 4);
  const ProgramResult same = run({"--prompt", "xa", "--compare-logits", path});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_EQ(same.out, "max_abs 0\nmean_abs 0\nrms 0\ntop 98\nref_top 98\naligned 1\n");
  const ProgramResult other = run({"--prompt", "xab", "--compare-logits", path});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.out.find("top 258\nref_top 98\naligned 0"), std::string::npos) << other.out;
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_EQ(run({"--prompt", "xa", "--compare-logits", path}).exit_code, 1);
  EXPECT_EQ(run({"--prompt", "xa", "--logits-out", path, "--gen", "1"}).out, "b\n");
  EXPECT_EQ(run({"--prompt", "xa", "--logits-out", dir_ / "no/such/dir"}).exit_code, 1);
}

TEST_F(Run, AttentionWindowReachesTheModel) {
  test::SyntheticModel synthetic;
  synthetic.config = test::tiny_config(Architecture::qwen3);
  const std::string path = dir_ / "synthetic.gguf", logits = dir_ / "logits.bin";
  synthetic.builder().write(path);
  const auto compare = [&](const char* window) {
    return test::run_program({MAGLIO_BINARY, "run", path, "--prompt", "hello", "--threads", "1",
                              "--attn-window", window, "--compare-logits", logits})
        .out;
  };
  test::run_program({MAGLIO_BINARY, "run", path, "--prompt", "hello", "--logits-out", logits});
  EXPECT_TRUE(compare("5").starts_with("max_abs 0\n"));
  EXPECT_FALSE(compare("2").starts_with("max_abs 0\n"));
}

TEST_F(Run, WeightsInTheFileGiveTheSameAnswer) {
  model_.answers("Paris");
  const ProgramResult f = run({"--chat", "Capital?", "--temp", "0", "--no-repack"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_EQ(f.out, "Paris\n");
  EXPECT_EQ(f.err, "");
}

TEST_F(Run, PackedWeightsAreKeptBesideTheModelOrInAFolder) {
  model_.answers("Paris");
  const std::vector<std::string> ask = {"--chat", "Capital?", "--temp", "0"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> arguments = ask;
    arguments.push_back(flag);
    const ProgramResult f = run(arguments);
    EXPECT_EQ(f.out, "Paris\n");
    return f.err;
  };
  EXPECT_EQ(with("--pack-cache"), "");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "model.gguf.packed"));
  EXPECT_NE(with("--pack-cache").find("was made from another file: made anew"), std::string::npos)
      << "run() writes the model again";
  std::filesystem::create_directory(dir_ / "caches");
  EXPECT_EQ(with("--pack-cache=" + (dir_ / "caches").string()), "");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "caches" / "model.gguf.packed"));
  std::filesystem::remove_all(dir_ / "caches" / "model.gguf.packed");
  EXPECT_EQ(run(ask, "", {{"MAGLIO_PACK_CACHE", (dir_ / "caches").string()}}).out, "Paris\n");
  EXPECT_TRUE(std::filesystem::exists(dir_ / "caches" / "model.gguf.packed"));
}

TEST_F(Run, AFolderInPlaceOfATextIsNamed) {
  for (const char* flag : {"--prompt-file", "--system-file", "--spec-reference", "--tokenize"}) {
    std::vector<std::string> arguments = {flag, dir_.path().string()};
    if (flag != std::string_view("--prompt-file") && flag != std::string_view("--tokenize")) {
      arguments.insert(arguments.begin(), {"--chat", "x"});
    }
    const ProgramResult f = run(arguments);
    EXPECT_EQ(f.exit_code, 1) << flag;
    EXPECT_EQ(f.err.substr(f.err.find("maglio:")),
              "maglio: " + dir_.path().string() + ": cannot be read: Is a directory\n")
        << flag;
  }
}

TEST_F(Run, VerifyCacheSaysPass) {
  model_.after('a', 'b').after('b', 'a');
  for (const char* type : {"f16", "q8_0"}) {
    const ProgramResult f = run({"--prompt", "xa", "--verify-cache", "5", "--cache-type", type});
    EXPECT_EQ(f.exit_code, 0) << f.err;
    EXPECT_TRUE(f.out.ends_with("\nPASS\n")) << f.out;
  }
}

TEST_F(Run, BenchOracleNamesBothRegimes) {
  const ProgramResult f = run({"--prompt", "xa", "--bench", "2", "--gen", "3"});
  EXPECT_EQ(f.exit_code, 0) << f.err;
  EXPECT_NE(f.out.find("prefill 2 tokens"), std::string::npos);
  EXPECT_NE(f.out.find("decode 3 tokens"), std::string::npos);
}

TEST_F(Run, BadIdsAreRefused_B103) {
  for (const char* ids : {"-1", "288", "1.5", "", "1,", "a"}) {
    const ProgramResult f = run({"--prompt-ids", ids});
    EXPECT_EQ(f.exit_code, 1) << ids;
    EXPECT_TRUE(f.err.starts_with("maglio: ")) << f.err;
  }
}

TEST_F(Run, EmptyPipeIsNoQuestion) {
  const ProgramResult f = run({"--temp", "0"}, "\n");
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(f.out, "");
}

TEST_F(Run, AnswerThatCannotBeWrittenIsAFailure) {
  model_.answers("Paris");
  model_.write(dir_ / "model.gguf");
  const ProgramResult f =
      test::run_program({"/bin/sh", "-c",
                         MAGLIO_BINARY " run '" + (dir_ / "model.gguf").string() +
                             "' --chat x --temp 0 --threads 1 >/dev/full"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_NE(f.err.find("stdout"), std::string::npos) << f.err;
}

TEST_F(Run, BadRequestsAreRefused) {
  EXPECT_EQ(run({"--prompt", ""}).exit_code, 1);
  EXPECT_EQ(run({"--prompt-file", dir_ / "absent"}).exit_code, 1);
  EXPECT_EQ(run({"--prompt-file", dir_.path().string()}).exit_code, 1);
  EXPECT_EQ(run({"--chat", "x", "--top-p", "2"}).exit_code, 2) << "before a model is loaded";
  EXPECT_EQ(run({"--chat", "x", "--chat-template", dir_ / "absent"}).exit_code, 1);
}

TEST_F(Run, FormatsOfBenchPrintTheTests) {
  model_.write(dir_ / "model.gguf");
  const ProgramResult md = test::run_program({MAGLIO_BINARY, "bench", dir_ / "model.gguf", "-p",
                                              "8", "-n", "4", "-pg", "4,2", "-r", "2", "-t", "1"});
  EXPECT_EQ(md.exit_code, 0) << md.err;
  for (const char* name : {" pp8 ", " tg4 ", " pp4+tg2 "}) {
    EXPECT_NE(md.out.find(name), std::string::npos) << md.out;
  }
  const ProgramResult json =
      test::run_program({MAGLIO_BINARY, "bench", "-m", dir_ / "model.gguf", "-p", "8", "-n", "0",
                         "-d", "16", "-r", "2", "-t", "1", "-o", "json", "-ctk", "q8_0"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto row = boost::json::parse(json.out).as_array().at(0).as_object();
  EXPECT_EQ(number(row, "n_depth"), 16);
  EXPECT_EQ(row.at("type_v").as_string(), "q8_0");
  EXPECT_EQ(row.at("samples_ns").as_array().size(), 2u);
}

}  // namespace
}  // namespace maglio
