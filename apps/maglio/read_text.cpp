#include "maglio/read_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "maglio/error.h"

namespace maglio::app {

std::string read_text(const std::string& path) {
  if (path == "-") return read_stdin();
  std::error_code unknown;  // what cannot be asked cannot be opened either
  const bool is_folder = std::filesystem::is_directory(path, unknown);
  std::ifstream in(path, std::ios::binary);
  if (!in || is_folder) {  // reading a folder would throw what names no path
    throw Error(
        ErrorKind::io, "CannotRead",
        fmt::format("{}: cannot be read: {}", path, std::strerror(is_folder ? EISDIR : errno)));
  }
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return text;
}

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

}  // namespace maglio::app
