#include "support/program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

extern char** environ;

namespace maglio::test {
namespace {

std::FILE* temporary_file() {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) throw std::runtime_error("tmpfile failed");
  return file;
}

std::string close_and_read(std::FILE* file) {
  std::string text;
  std::rewind(file);
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
  std::fclose(file);
  return text;
}

}  // namespace

// Temporary files instead of pipes: nothing can block.
ProgramResult run_program(const std::vector<std::string>& args,
                          std::string_view input,
                          const Environment& environment) {
  std::FILE* in = temporary_file();
  std::FILE* out = temporary_file();
  std::FILE* err = temporary_file();
  std::fwrite(input.data(), 1, input.size(), in);
  std::rewind(in);
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    ::dup2(fileno(in), STDIN_FILENO);
    ::dup2(fileno(out), STDOUT_FILENO);
    ::dup2(fileno(err), STDERR_FILENO);
    exec_program(args, environment);
  }
  const int exit_code = wait_for(pid);
  std::fclose(in);
  return {exit_code, close_and_read(out), close_and_read(err)};
}

void exec_program(const std::vector<std::string>& args, const Environment& environment) {
  std::vector<std::string> ours;
  for (char** e = environ; *e != nullptr; ++e) {
    if (std::string_view(*e).starts_with("MAGLIO_")) ours.emplace_back(*e, std::strchr(*e, '='));
  }
  for (const std::string& name : ours) ::unsetenv(name.c_str());
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& arg : args) pointers.push_back(const_cast<char*>(arg.c_str()));
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  _exit(127);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace maglio::test
