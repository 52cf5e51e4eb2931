#include "support/program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace maglio::test {
namespace {

// 'text', with every ' inside written as '\''.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& args, std::string_view input) {
  const TempDir folder;
  std::ofstream(folder / "in", std::ios::binary) << input;
  std::string command;
  for (const std::string& arg : args) command += shell_quoted(arg) + " ";
  command += "<" + shell_quoted((folder / "in").string());
  command += " >" + shell_quoted((folder / "out").string());
  command += " 2>" + shell_quoted((folder / "err").string());
  const int status = std::system(command.c_str());
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {exit_code, content_of(folder / "out"), content_of(folder / "err")};
}

}  // namespace maglio::test
