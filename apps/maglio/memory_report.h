// What a model takes of memory and what fits, in words; and --fit, which decides by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "maglio/load_options.h"
#include "model/memory_plan.h"

namespace maglio::app {

std::string_view cache_name(CacheType type);  // as --cache-type spells it

// The flags that make a plan come true: "--ctx 40960 --cache-type f16 --experts mmap".
std::string flags_of(const MemoryPlan& plan, bool is_mixture);

// For `maglio info`: weights, what is available, and every way to keep them with what fits then.
// available: nothing where the system does not say.
std::string memory_text(const ModelSizes& sizes, std::optional<uint64_t> available);

// A plan that fits, and what is said of it.
struct Fitted {
  MemoryPlan plan;
  bool is_mixture = false;
  std::string note;
};
// Throws: Error unsupported "MemoryUnknown" where the system does not say what is available,
// bad_request "DoesNotFit" where nothing that is as wished does.
Fitted fit_or_fail(const ModelSizes& sizes,
                   std::optional<uint64_t> available,
                   const MemoryWishes& wishes);

// The same for a model's file, in the memory that this process may still take, with the kernels of
// options.isa. Its wishes for weights are those of the options.
// Throws: also what reading the file's header throws.
Fitted fit_model(const std::filesystem::path& model,
                 MemoryWishes wishes,
                 const LoadOptions& options);

}  // namespace maglio::app
