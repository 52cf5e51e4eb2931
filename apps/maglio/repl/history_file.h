// What a user has typed, kept from one session to the next.
//
// A file of one message a line, oldest first, in which a line feed is \n and a backslash \\. Only
// its owner may read it. Sessions side by side lose nothing: each message is added under a lock.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::app {

class HistoryFile {
 public:
  static constexpr size_t kMessages = 1000;          // the oldest are forgotten
  static constexpr size_t kMessageBytes = 64 << 10;  // longer ones are not kept

  // Nothing is kept where the path is empty.
  explicit HistoryFile(std::filesystem::path path) : path_(std::move(path)) {}

  // $XDG_STATE_HOME/maglio/history, as the XDG base directory specification has it; empty where
  // there is no home.
  static std::filesystem::path default_path();

  // A history that cannot be read or written is no reason to disturb a chat: neither throws.
  std::vector<std::string> load() const;
  void add(std::string_view message) const;

 private:
  std::filesystem::path path_;
};

}  // namespace maglio::app
