// Runs a program as a user's shell does, for tests of the whole binary.
//
//   const ProgramResult info = run_program({MAGLIO_BINARY, "info", path});
//   EXPECT_EQ(info.exit_code, 0) << info.err;
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace maglio::test {

struct ProgramResult {
  int exit_code = 0;  // 128 + the signal's number if a signal ended it
  std::string out;
  std::string err;
};

// args[0] is the program. Its standard input is `input`.
ProgramResult run_program(const std::vector<std::string>& args, std::string_view input = {});

}  // namespace maglio::test
