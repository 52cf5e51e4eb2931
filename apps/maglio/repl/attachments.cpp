#include "maglio/repl/attachments.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/utf8.h"
#include "maglio/error.h"
#include "maglio/read_text.h"
#include "maglio/repl/home.h"

namespace maglio::app {
namespace {

// More backquotes than the text has in a row.
std::string fence_for(std::string_view text) {
  size_t longest = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

struct Matches {
  glob_t found{};
  explicit Matches(const std::string& pattern) {
    ::glob(pattern.c_str(), GLOB_TILDE | GLOB_MARK, nullptr, &found);
  }
  ~Matches() { ::globfree(&found); }
  Matches(const Matches&) = delete;
  Matches& operator=(const Matches&) = delete;
};

}  // namespace

size_t Attachments::add_file(const std::string& path) {
  files_.push_back(read(with_home(path)));
  const std::string& text = files_.back().text;
  const auto ends = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

std::vector<std::string> Attachments::add_matching(const std::string& pattern) {
  const Matches matches(pattern);
  std::vector<std::string> paths;
  std::vector<File> files;
  for (size_t i = 0; i < matches.found.gl_pathc; ++i) {
    const std::string path = matches.found.gl_pathv[i];
    if (path.ends_with('/')) continue;
    files.push_back(read(path));
    paths.push_back(path);
  }
  if (paths.empty()) {
    throw Error(ErrorKind::bad_request, "NoMatch", fmt::format("{}: no file matches", pattern));
  }
  std::move(files.begin(), files.end(), std::back_inserter(files_));
  return paths;
}

std::string Attachments::take_with(std::string_view message) {
  std::string all;
  for (const File& file : std::exchange(files_, {})) {
    const std::string fence = fence_for(file.text);
    const char* end = file.text.ends_with('\n') || file.text.empty() ? "" : "\n";
    all += fmt::format("{}:\n{}\n{}{}{}\n\n", file.path, fence, file.text, end, fence);
  }
  return all.append(message);
}

Attachments::File Attachments::read(const std::string& path) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  if (regular && std::filesystem::file_size(path, error) > kFileBytes) {
    throw Error(
        ErrorKind::bad_request, "FileTooLarge",
        fmt::format("{}: larger than {} MiB, which no context holds", path, kFileBytes >> 20));
  }
  if (!regular && std::filesystem::exists(path, error)) {
    throw Error(
        ErrorKind::bad_request, "NoText",
        fmt::format("{}: expected a file, found a {}", path,
                    std::filesystem::is_directory(path, error) ? "folder" : "pipe or device"));
  }
  File file{path, read_text(path)};
  if (!is_valid_utf8(file.text) || file.text.find('\0') != std::string::npos) {
    throw Error(ErrorKind::bad_request, "NoText",
                fmt::format("{}: expected text in UTF-8, found other bytes", path));
  }
  return file;
}

}  // namespace maglio::app
