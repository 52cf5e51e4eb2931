// How far two rows of logits lie apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::app {

struct LogitComparison {
  double max_abs = 0, mean_abs = 0, rms = 0;  // of the differences
  size_t top = 0, ref_top = 0;                // the best ids
  bool aligned = false;                       // the five best ids agree in order
};

// Raw little-endian float32 without a header. `name` is for the message.
// Throws: Error bad_file "InvalidLogitsFile" when the size is no multiple of 4.
std::vector<float> parse_logits(std::string_view bytes, const std::string& name);

// Throws: Error bad_file "LogitsShapeMismatch" when the lengths differ.
LogitComparison compare_logits(std::span<const float> logits, std::span<const float> reference);

}  // namespace maglio::app
