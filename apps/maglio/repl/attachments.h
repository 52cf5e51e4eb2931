// Files that go with the next message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::app {

class Attachments {
 public:
  static constexpr size_t kFileBytes = 16 << 20;

  // Reads a file of text; ~/ is the home. Returns its number of lines.
  // Throws: Error io "CannotRead", bad_request "NoText", "FileTooLarge".
  size_t add_file(const std::string& path);
  // Every file that the pattern names (*, ?, [a-z], ~), folders left out, in order. All or none.
  // Throws: Error bad_request "NoMatch"; as add_file.
  std::vector<std::string> add_matching(const std::string& pattern);

  bool empty() const { return files_.empty(); }
  void clear() { files_.clear(); }

  // The message with the files before it, each under its name between fences; the files are gone
  // then.
  std::string take_with(std::string_view message);

 private:
  struct File {
    std::string path, text;
  };
  static File read(const std::string& path);

  std::vector<File> files_;
};

}  // namespace maglio::app
