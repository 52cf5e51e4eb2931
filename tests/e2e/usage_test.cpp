#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/temp_dir.h"

namespace maglio {
namespace {

using test::ProgramResult;
using test::run_program;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Usage, WithoutArgumentsPrintsTheUsageAndExits2) {
  const ProgramResult f = run_program({MAGLIO_BINARY});
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_EQ(f.out, "");
  for (const char* command : {"run", "tokenize", "info", "bench"}) EXPECT_TRUE(has(f.err, command));
}

TEST(Usage, HelpExits0AndShowsDefaultsAndUnits) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "--help"}).exit_code, 0);
  const ProgramResult f = run_program({MAGLIO_BINARY, "run", "--help"});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_TRUE(has(f.out, "--top-k"));
  EXPECT_TRUE(has(f.out, "MAGLIO_TOP_K"));
  EXPECT_TRUE(has(f.out, "tokens"));
  EXPECT_EQ(f.err, "");
}

TEST(Usage, RemarksThatNobodyCanReadEndNothing) {
  for (const std::string to : {"2>/dev/full", "2>&-"}) {
    EXPECT_EQ(run_program({"/bin/sh", "-c", "\"$0\" run /nope --prompt hi " + to, MAGLIO_BINARY})
                  .exit_code,
              1)
        << to;
    EXPECT_EQ(run_program({"/bin/sh", "-c", "\"$0\" " + to, MAGLIO_BINARY}).exit_code, 2) << to;
  }
}

TEST(Usage, VersionNamesBuildAndInstructionSet) {
  const ProgramResult f = run_program({MAGLIO_BINARY, "--version"}, "", {{"MAGLIO_ISA", "scalar"}});
  EXPECT_EQ(f.exit_code, 0);
  EXPECT_TRUE(f.out.starts_with("maglio "));
  EXPECT_TRUE(has(f.out, "instruction set scalar"));
}

// Every flag that --help shows is offered, and bash itself runs the script.
TEST(Usage, CompletionKnowsEveryFlag) {
  const ProgramResult script = run_program({MAGLIO_BINARY, "--completion-bash"});
  EXPECT_EQ(script.exit_code, 0);
  const std::string help = run_program({MAGLIO_BINARY, "run", "--help"}).out;
  size_t n_flags = 0;
  for (size_t at = 0; (at = help.find("--", at)) != std::string::npos; at += 2) {
    const size_t end = help.find_first_not_of("abcdefghijklmnopqrstuvwxyz-0123456789", at);
    const std::string flag = help.substr(at, end - at);
    if (flag.size() < 4) continue;
    EXPECT_TRUE(has(script.out, flag)) << flag;
    ++n_flags;
  }
  EXPECT_GT(n_flags, 40u);
  const auto complete = [&](const std::string& words, int n) {
    return run_program({"/bin/bash", "-c",
                        script.out + "COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(n) +
                            "; _maglio; echo ${COMPREPLY[@]}"})
        .out;
  };
  EXPECT_EQ(complete("maglio r", 1), "run\n");
  EXPECT_EQ(complete("maglio run --top", 2), "--top-k --top-p\n");
  EXPECT_EQ(complete("maglio run --cache-type ''", 3), "f16 q8_0\n");
  EXPECT_EQ(complete("maglio run --system ''", 3), "\n") << "files";
  EXPECT_TRUE(run_program({MAGLIO_BINARY, "--completion-zsh"}).out.ends_with(script.out));
  EXPECT_TRUE(has(run_program({MAGLIO_BINARY, "--completion-fish"}).out, "-l cache-type"));
}

TEST(Usage, EveryFlagOfRunHasAnEnvironmentTwin) {
  const std::string help = run_program({MAGLIO_BINARY, "run", "--help"}).out;
  for (const char* twin : {"MAGLIO_SYSTEM_FILE", "MAGLIO_SINGLE_TURN", "MAGLIO_ESCAPE",
                           "MAGLIO_COLOR", "MAGLIO_HIDE_THINKING", "MAGLIO_VERBOSE",
                           "MAGLIO_NO_TIMINGS", "MAGLIO_HISTORY", "MAGLIO_PROMPT", "MAGLIO_CTX"}) {
    EXPECT_TRUE(has(help, twin)) << twin;
  }
}

TEST(Usage, BadUsageExits2) {
  EXPECT_EQ(run_program({MAGLIO_BINARY, "fly"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--temp", "hot"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--fly"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--top-p", "1.5"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--min-p", "-1"}).exit_code, 2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "run", "m.gguf", "--chat", "a", "--prompt", "b"}).exit_code,
            2);
  EXPECT_EQ(run_program({MAGLIO_BINARY, "bench"}).exit_code, 2);
}

TEST(Usage, SaysWhatAStrayArgumentMayHaveMeant) {
  const auto about = [](std::vector<std::string> args) {
    args.insert(args.begin(), MAGLIO_BINARY);
    const ProgramResult f = run_program(args);
    EXPECT_EQ(f.exit_code, 2);
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1);
    return f.err;
  };
  EXPECT_TRUE(has(about({"run", "m.gguf", "--chatt", "Hi"}),
                  "--chatt: no such flag of maglio run (did you mean --chat?)"));
  EXPECT_TRUE(has(about({"run", "m.gguf", "--streem=2"}), "(did you mean --streams?)"));
  EXPECT_TRUE(has(about({"run", "m.gguf", "Hi"}), "Hi: not expected behind maglio run"));
  EXPECT_TRUE(has(about({"inof", "m.gguf"}), "inof: no such command (did you mean info?)"));
  EXPECT_TRUE(has(about({"chat"}), "chat: no such command; expected run, "));
  EXPECT_TRUE(has(about({"m.gguf"}), "to chat with it: maglio run m.gguf"));
}

TEST(Usage, StatedFailureExits1WithOneLine) {
  const test::TempDir dir;
  const ProgramResult f = run_program({MAGLIO_BINARY, "run", dir / "absent.gguf", "--chat", "Hi"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_EQ(f.out, "");
  EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1);
  EXPECT_TRUE(f.err.starts_with("maglio: "));
  EXPECT_TRUE(has(f.err, "absent.gguf"));
}

TEST(Usage, InstructionSetThatIsNotThereExits1) {
  const ProgramResult f = run_program({MAGLIO_BINARY, "--version"}, "", {{"MAGLIO_ISA", "mmx"}});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_TRUE(has(f.err, "not available here"));
}

}  // namespace
}  // namespace maglio
