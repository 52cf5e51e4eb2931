#include "maglio/repl/slash_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "maglio/error.h"
#include "maglio/interrupt.h"
#include "maglio/repl/settings.h"
#include "support/successor_model.h"
#include "support/temp_dir.h"

namespace maglio::app {
namespace {

using test::SuccessorModel;

// A chat with a model that answers "Paris".
class SlashCommands : public testing::Test {
 protected:
  SlashCommands() : lines_("") {
    SuccessorModel model;
    model.answers("Paris").write(dir_ / "model.gguf");
    RunFlags flags;
    flags.model = dir_ / "model.gguf";
    flags.sampling.temperature = 0;
    flags.load.n_threads = 1;
    session_ = std::make_unique<Session>(open_session(flags));
    chat_ = std::make_unique<Chat>(*session_, lines_);
  }

  std::string code_of(const std::string& line) {
    try {
      obey(*chat_, line);
    } catch (const Error& error) {
      message_ = error.message();
      return error.code();
    }
    return "none";
  }
  const ConversationOptions& options() { return chat_->conversation().options(); }
  std::string said_by(const std::string& line) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(code_of(line), "none") << message_;
    return testing::internal::GetCapturedStderr();
  }

  test::TempDir dir_;
  InterruptGuard guard_;
  LineReader lines_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Chat> chat_;
  std::string message_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(SlashCommands, EveryNameIsThereOnceAndInTheHelp) {
  std::set<std::string_view> names;
  for (const SlashCommand& command : slash_commands()) {
    for (std::string_view name : command.names) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_TRUE(name.starts_with('/')) << name;
    }
    EXPECT_TRUE(has(slash_help(), command.help)) << command.names[0];
  }
  for (const char* name :
       {"/help", "/?", "/exit", "/quit", "/bye", "/clear", "/regen", "/undo", "/edit", "/system",
        "/think", "/set", "/show", "/read", "/glob", "/save", "/load", "/stats", "/tokens"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(SlashCommands, HelpFitsATerminalOf80Columns) {
  const std::string help = slash_help();
  for (size_t at = 0; at < help.size(); at = help.find('\n', at) + 1) {
    EXPECT_LE(help.find('\n', at) - at, 80u) << help.substr(at, help.find('\n', at) - at);
  }
}

// docs/chat.md has the table that /help prints.
TEST_F(SlashCommands, ThePageHasEveryCommandWithItsArgumentsAndHelp) {
  std::ifstream in(std::string(MAGLIO_SOURCE_DIR) + "/docs/chat.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const SlashCommand& command : slash_commands()) {
    std::string row = "| ";
    for (std::string_view name : command.names) row += "`" + std::string(name) + "` ";
    if (!command.arguments.empty()) {
      std::string arguments(command.arguments);
      for (size_t i = 0; (i = arguments.find('|', i)) != std::string::npos; i += 2) {
        arguments.insert(i, "\\");
      }
      row += "`" + arguments + "` ";
    }
    row += "| " + std::string(command.help) + " |";
    EXPECT_TRUE(has(page, row)) << row;
  }
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(has(page, "`" + std::string(setting.name) + "`")) << setting.name;
  }
}

TEST_F(SlashCommands, UnknownOnesNameTheNearest) {
  EXPECT_EQ(code_of("/claer"), "UnknownCommand");
  EXPECT_TRUE(has(message_, "did you mean /clear?")) << message_;
  EXPECT_EQ(code_of("/fly"), "UnknownCommand");
  EXPECT_FALSE(has(message_, "did you mean")) << message_;
  EXPECT_TRUE(has(message_, "//")) << message_;
  EXPECT_EQ(code_of("/"), "UnknownCommand");
}

TEST_F(SlashCommands, ArgumentsAreRefusedWhereNoneAreTaken) {
  EXPECT_EQ(code_of("/clear all"), "UnexpectedArgument");
  EXPECT_EQ(code_of("/clear  \t"), "none");
}

TEST_F(SlashCommands, LeavingHasThreeNames) {
  for (const char* name : {"/exit", "/quit", "/bye"}) {
    EXPECT_EQ(obey(*chat_, name), After::leave) << name;
  }
}

TEST_F(SlashCommands, UndoRegenAndEditNeedATurn) {
  EXPECT_EQ(code_of("/undo"), "NoTurn");
  EXPECT_EQ(code_of("/regen"), "NoAnswer");
}

TEST_F(SlashCommands, SetChangesTheSamplerAndTheLimits) {
  const std::pair<const char*, const char*> changes[] = {{"temp", "0.5"},
                                                         {"top-k", "3"},
                                                         {"top-p", "0.25"},
                                                         {"min-p", "0.125"},
                                                         {"repeat-penalty", "1.5"},
                                                         {"repeat-last-n", "-1"},
                                                         {"frequency-penalty", "0.75"},
                                                         {"presence-penalty", "-0.5"},
                                                         {"seed", "7"}};
  for (const auto& [name, value] : changes) {
    EXPECT_EQ(code_of(fmt::format("/set {} {}", name, value)), "none") << message_;
  }
  EXPECT_EQ(options().sampler, (SamplerConfig{0.5f, 3, 0.25f, 0.125f, 1.5f, 0.75f, -0.5f, -1, 7}));
  EXPECT_EQ(code_of("/set max-tokens 9"), "none");
  EXPECT_EQ(options().max_tokens, 9u);
  EXPECT_EQ(code_of("/set max-tokens -1"), "none");
  EXPECT_EQ(options().max_tokens, std::nullopt);
  EXPECT_EQ(code_of(R"(/set stop a b\n)"), "none");
  EXPECT_EQ(code_of("/set stop c"), "none");
  EXPECT_EQ(options().stop.strings, (std::vector<std::string>{"a b\n", "c"}));
  EXPECT_EQ(code_of("/set stop"), "none");
  EXPECT_TRUE(options().stop.strings.empty());
}

TEST_F(SlashCommands, SetTakesOtherEnginesSpelling) {
  EXPECT_EQ(code_of("/set parameter temperature 0.5"), "none") << message_;
  EXPECT_EQ(code_of("/set top_k 4"), "none") << message_;
  EXPECT_EQ(code_of("/set parameter num_predict 5"), "none") << message_;
  EXPECT_EQ(options().sampler.temperature, 0.5f);
  EXPECT_EQ(options().sampler.top_k, 4);
  EXPECT_EQ(options().max_tokens, 5u);
}

TEST_F(SlashCommands, ABadValueChangesNothing) {
  const SamplerConfig before = options().sampler;
  for (const char* line :
       {"/set temp hot", "/set temp 1x", "/set temp", "/set top-k 1.5", "/set max-tokens -2",
        "/set seed -2", "/set timings maybe", "/set quiet now", "/think perhaps"}) {
    EXPECT_EQ(code_of(line), "BadSetting") << line;
  }
  EXPECT_EQ(code_of("/set top-p -3"), "BadSamplerConfig");
  EXPECT_EQ(code_of("/set top-p nan"), "BadSamplerConfig");
  EXPECT_EQ(code_of("/set tmep 1"), "UnknownSetting");
  EXPECT_TRUE(has(message_, "did you mean temp?")) << message_;
  EXPECT_EQ(options().sampler, before);
}

TEST_F(SlashCommands, EverySettingIsShownWithItsValue) {
  obey(*chat_, "/set top-k 77");
  const std::string list = said_by("/set");
  EXPECT_EQ(list, said_by("/show parameters"));
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(has(list, setting.name)) << setting.name;
    EXPECT_TRUE(has(list, setting.help)) << setting.name;
  }
  EXPECT_TRUE(has(list, "77"));
}

TEST_F(SlashCommands, SystemAndThinkingCanBeChanged) {
  EXPECT_EQ(code_of("/system Be brief."), "none");
  EXPECT_EQ(options().system, "Be brief.");
  EXPECT_TRUE(has(said_by("/system"), "Be brief."));
  EXPECT_EQ(code_of("/system \"\""), "none");
  EXPECT_EQ(options().system, "");
  EXPECT_EQ(code_of("/think off"), "none");
  EXPECT_EQ(options().thinking, Thinking::off);
  EXPECT_TRUE(has(said_by("/think"), "off"));
}

TEST_F(SlashCommands, TimingsThoughtAndHistoryAreSwitched) {
  for (const auto& [line, flag] :
       {std::pair("/set verbose", true), {"/set quiet", false}, {"/set timings on", true}}) {
    EXPECT_EQ(code_of(line), "none");
    EXPECT_EQ(chat_->shows_timings, flag) << line;
  }
  EXPECT_EQ(code_of("/set hide-thinking on"), "none");
  EXPECT_TRUE(chat_->hides_thinking);
  EXPECT_EQ(code_of("/set nohistory"), "none");
  EXPECT_FALSE(lines_.keeps_history());
  EXPECT_EQ(code_of("/set history"), "none");
  EXPECT_TRUE(lines_.keeps_history());
}

TEST_F(SlashCommands, ShowHasPages) {
  EXPECT_TRUE(has(said_by("/show template"), "<|im_start|>"));
  EXPECT_TRUE(has(said_by("/show info"), "of 512 tokens"));
  EXPECT_TRUE(has(said_by("/show history"), "nothing has been said yet"));
  EXPECT_EQ(code_of("/show templat"), "UnknownPage");
  EXPECT_TRUE(has(message_, "did you mean template?")) << message_;
}

TEST_F(SlashCommands, TokensNamesIdsAndPieces) {
  EXPECT_EQ(said_by("/tokens hi\x1b"), "3 tokens: 104 'h' 105 'i' 27 '\\x1b'\n");
  EXPECT_TRUE(has(said_by("/tokens"), "0 of 512 tokens"));
}

}  // namespace
}  // namespace maglio::app
