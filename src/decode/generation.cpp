#include "maglio/generation.h"

namespace maglio {

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(DraftSource source) {
  switch (source) {
    case DraftSource::forced:
      return "forced";
    case DraftSource::conversation:
      return "conversation";
    case DraftSource::reference:
      return "reference";
    case DraftSource::recycled:
      return "recycled";
  }
  return "unknown";
}

size_t SpeculationStats::drafted() const {
  size_t n = 0;
  for (const Source& source : sources) n += source.drafted;
  return n;
}

size_t SpeculationStats::accepted() const {
  size_t n = 0;
  for (const Source& source : sources) n += source.accepted;
  return n;
}

}  // namespace maglio
