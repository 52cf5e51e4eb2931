// The real vocabularies that tests compare ids on. They are too large for the repository:
// tools/fetch_test_data.py and tools/fetch_model.sh (both part of `make test`) put them into
// models/. A test that lacks its file is skipped, and says so.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "gguf/reader.h"
#include "maglio/tokenizer.h"

namespace maglio::test {

inline std::filesystem::path vocabulary_path(const std::string& name) {
  const std::filesystem::path models = std::filesystem::path(MAGLIO_SOURCE_DIR) / "models";
  if (name == "smollm2") return models / "SmolLM2-135M-Instruct.Q4_1.gguf";
  return models / "vocab" / (name + ".gguf");
}

// Loaded once; nullptr where the file is missing.
inline const Tokenizer* find_vocabulary(const std::string& name) {
  static std::map<std::string, Tokenizer> loaded;
  if (const auto found = loaded.find(name); found != loaded.end()) return &found->second;
  const std::filesystem::path path = vocabulary_path(name);
  if (!std::filesystem::exists(path)) return nullptr;
  const gguf::File file = gguf::File::open(path);
  return &loaded.emplace(name, Tokenizer::from_gguf(file.metadata())).first->second;
}

}  // namespace maglio::test

// Declares `const Tokenizer& name`, or skips the test.
#define MAGLIO_NEED_VOCABULARY(variable, name)                                                    \
  const maglio::Tokenizer* variable##_found = maglio::test::find_vocabulary(name);                \
  if (!variable##_found) {                                                                        \
    GTEST_SKIP()                                                                                  \
        << "SKIPPED, NOT PASSED: " << maglio::test::vocabulary_path(name)                         \
        << " is missing; run tools/fetch_test_data.py and tools/fetch_model.sh (make test does)"; \
  }                                                                                               \
  const maglio::Tokenizer& variable = *variable##_found
