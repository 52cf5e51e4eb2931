#include "chat/rendered.h"

namespace maglio::chat {

std::string Rendered::text() const {
  std::string all;
  for (const Segment& segment : segments_) all += segment.text;
  return all;
}

Rendered& Rendered::append(Segment::Kind kind, std::string_view text) {
  if (!text.empty()) segments_.push_back({kind, std::string(text)});
  return *this;
}

}  // namespace maglio::chat
