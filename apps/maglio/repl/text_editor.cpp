#include "maglio/repl/text_editor.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "maglio/error.h"

extern char** environ;

namespace maglio::app {
namespace {

[[noreturn]] void fail(const std::string& why) {
  throw Error(ErrorKind::io, "EditorFailed", why);
}

// A file of its own, gone with it. mkstemp lets nobody else read it.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "maglio-XXXXXX.txt").string()) {
    const int fd = ::mkstemps(path_.data(), /*suffix length=*/4);
    if (fd < 0) fail(fmt::format("{}: cannot be written: {}", path_, std::strerror(errno)));
    ::close(fd);
    std::ofstream(path_, std::ios::binary) << text << '\n';
  }
  ~TextFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }
  std::string read() const {
    std::ifstream in(path_, std::ios::binary);
    if (!in) fail(fmt::format("{}: cannot be read after editing", path_));
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  std::string path_;
};

// Ctrl-C in the editor is the editor's.
class WithoutInterrupts {
 public:
  WithoutInterrupts() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~WithoutInterrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  WithoutInterrupts(const WithoutInterrupts&) = delete;
  WithoutInterrupts& operator=(const WithoutInterrupts&) = delete;

 private:
  struct sigaction interrupt_, quit_;
};

std::string editor_command() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "vi";
}

// The variable may hold words ("code --wait"), so a shell reads it, as it does for git.
int run_editor(const std::string& editor, const std::string& path) {
  const std::string command = editor + " \"$1\"";
  const char* arguments[] = {"sh", "-c", command.c_str(), "sh", path.c_str(), nullptr};
  const WithoutInterrupts guard;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/bin/sh", nullptr, &attributes,
                                  const_cast<char* const*>(arguments), environ);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) fail(fmt::format("{}: cannot be started: {}", editor, std::strerror(error)));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string edit_in_editor(const std::string& text) {
  const TextFile file(text);
  const std::string editor = editor_command();
  if (const int code = run_editor(editor, file.path()); code != 0) {
    fail(fmt::format("the editor '{}' ended with {}; $VISUAL or $EDITOR names another", editor,
                     code));
  }
  return file.read();
}

}  // namespace maglio::app
