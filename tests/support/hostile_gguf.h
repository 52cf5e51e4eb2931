// Model files as an attacker or a broken disk makes them, and good ones to start from.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "maglio/error.h"
#include "support/gguf_builder.h"

namespace maglio::test {

// n bytes first, first + 1, … (mod 256).
Bytes numbered_bytes(size_t n, size_t first);

// A good file with every type of value, scalar and array, and three tensors in three formats.
GgufBuilder sample_gguf();

struct HostileFile {
  std::string name;  // what is wrong with it, in CamelCase
  Bytes bytes;
  ErrorKind kind;
  std::string code;  // of the Error that it must end in
  std::string says;  // what the message must contain
};

// How GoogleTest names the case.
inline void PrintTo(const HostileFile& file, std::ostream* out) {
  *out << file.name;
}

// Each wrong in one way. All are below 100 kB.
std::vector<HostileFile> hostile_files();

}  // namespace maglio::test
