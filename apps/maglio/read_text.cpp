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
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in || std::filesystem::is_directory(path)) {
    throw Error(ErrorKind::io, "CannotRead",
                fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  return text;
}

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

}  // namespace maglio::app
