// A chat at a terminal with a model whose answers are known.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/successor_model.h"
#include "support/temp_dir.h"
#include "support/terminal_program.h"

namespace maglio::test {

inline constexpr const char* kCtrlC = "\x03";
inline constexpr const char* kCtrlD = "\x04";
inline constexpr const char* kUp = "\x1b[A";

class ReplFixture : public testing::Test {
 protected:
  ReplFixture() { model_.answers("Paris"); }

  TerminalProgram& start(std::vector<std::string> more = {}, Environment environment = {}) {
    const std::string path = dir_ / "model.gguf";
    model_.write(path);
    std::vector<std::string> command = {MAGLIO_BINARY, "run",       path, "--temp",
                                        "0",           "--threads", "1"};
    command.insert(command.end(), more.begin(), more.end());
    environment.insert(environment.begin(),
                       {{"TERM", "xterm"}, {"XDG_STATE_HOME", dir_.path().string()}});
    program_ = std::make_unique<TerminalProgram>(command, environment);
    return *program_;
  }
  // Started, and the prompt is there.
  TerminalProgram& open(std::vector<std::string> more = {}, Environment environment = {}) {
    TerminalProgram& repl = start(std::move(more), std::move(environment));
    EXPECT_TRUE(repl.await_prompt(">>> ")) << repl.screen();
    return repl;
  }

  void answers_without_end() {
    model_ = SuccessorModel();
    model_.after('\n', 'a').after('a', 'b').after('b', 'a');
    model_.context_length = 1 << 20;
  }
  std::string history() const {
    std::ifstream in(dir_ / "maglio/history");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempDir dir_;
  SuccessorModel model_;
  std::unique_ptr<TerminalProgram> program_;
};

}  // namespace maglio::test
