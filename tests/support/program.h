// Runs a program as a user's shell does, for tests of the whole binary.
//
//   const ProgramResult info = run_program({MAGLIO_BINARY, "info", path});
//   EXPECT_EQ(info.exit_code, 0) << info.err;
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace maglio::test {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ProgramResult {
  int exit_code = 0;  // 128 + the signal's number if a signal ended it
  std::string out;
  std::string err;
};

// args[0] is the program. Its standard input is `input`; its environment is this process's without
// every MAGLIO_ variable, and with the ones given.
ProgramResult run_program(const std::vector<std::string>& args,
                          std::string_view input = {},
                          const Environment& environment = {});

// What the child of a fork does: becomes the program.
[[noreturn]] void exec_program(const std::vector<std::string>& args,
                               const Environment& environment);

// The exit code of a child, as in ProgramResult.
int wait_for(pid_t pid);

}  // namespace maglio::test
