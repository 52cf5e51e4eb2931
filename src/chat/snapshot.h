// Everything that a conversation is, besides its cache: what a file keeps of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "chat/transcript.h"
#include "maglio/conversation.h"

namespace maglio::chat {

struct Snapshot {
  std::optional<std::vector<Message>> messages = std::vector<Message>();  // nothing: unknown
  Transcript transcript;
  size_t answer_begin = 0;  // index of the last answer's first token; 0: none
  std::optional<std::string> system = {};
  Thinking thinking = Thinking::on;
  // Where the sampler is, for one of the same seed.
  uint64_t seed = 0;
  Random::State random = {};
};

}  // namespace maglio::chat
