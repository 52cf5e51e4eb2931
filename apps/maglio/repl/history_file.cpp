#include "maglio/repl/history_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace maglio::app {
namespace {

constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;
constexpr size_t kFileBytes = HistoryFile::kMessages * HistoryFile::kMessageBytes;

std::string to_line(std::string_view message) {
  std::string line;
  for (char c : message) {
    if (c == '\\') line += "\\\\";
    if (c == '\n') line += "\\n";
    if (c != '\\' && c != '\n') line += c;
  }
  return line;
}

std::string to_message(std::string_view line) {
  std::string message;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      message += line[i] == 'n' ? '\n' : line[i];
    } else {
      message += line[i];
    }
  }
  return message;
}

std::vector<std::string> newest_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  if (lines.size() > HistoryFile::kMessages) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(HistoryFile::kMessages));
  }
  return lines;
}

// An open file under a lock, which ends with it.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly)) {
    if (fd_ >= 0) ::flock(fd_, LOCK_EX);
  }
  ~LockedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Only a file can be kept; a device or a pipe is left alone.
  bool is_file() const {
    struct stat status {};
    return fd_ >= 0 && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  }
  std::string read_all() const {
    std::string text;
    char buffer[1 << 16];
    for (ssize_t n; text.size() < kFileBytes && (n = ::read(fd_, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<size_t>(n));
    }
    return text;
  }
  void replace(std::string_view text) const {
    ::fchmod(fd_, kOwnerOnly);
    if (::ftruncate(fd_, 0) != 0) return;
    for (off_t at = 0; !text.empty();) {
      const ssize_t n = ::pwrite(fd_, text.data(), text.size(), at);
      if (n <= 0) return;
      text.remove_prefix(static_cast<size_t>(n));
      at += n;
    }
  }

 private:
  int fd_;
};

}  // namespace

std::filesystem::path HistoryFile::default_path() {
  std::filesystem::path base;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != '\0') {
    base = state;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    base = std::filesystem::path(home) / ".local/state";
  } else {
    return {};
  }
  return base / "maglio/history";
}

std::vector<std::string> HistoryFile::load() const {
  std::error_code error;
  if (path_.empty() || !std::filesystem::is_regular_file(path_, error)) return {};
  if (std::filesystem::file_size(path_, error) > kFileBytes) return {};
  std::ifstream in(path_, std::ios::binary);
  std::vector<std::string> messages;
  for (const auto& line : newest_lines({std::istreambuf_iterator<char>(in), {}})) {
    messages.push_back(to_message(line));
  }
  return messages;
}

void HistoryFile::add(std::string_view message) const {
  if (path_.empty() || message.empty() || message.size() > kMessageBytes) return;
  std::error_code ignored;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), ignored);
  const LockedFile file(path_);
  if (!file.is_file()) return;
  const std::string text = file.read_all();
  std::string all;
  for (const auto& line : newest_lines(text + '\n' + to_line(message))) all += line + '\n';
  file.replace(all);
}

}  // namespace maglio::app
