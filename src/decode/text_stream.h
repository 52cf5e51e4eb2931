// Tokens of an answer to the text that a client may see: whole characters, and nothing that belongs
// to a stop string.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "decode/stop.h"
#include "maglio/tokenizer.h"

namespace maglio {

// The decoder is a StreamDecoder: push(id, sink), flush(sink). Not thread-safe.
template <class Decoder>
class TextStream {
 public:
  TextStream(Decoder decoder, StopStrings stop)
      : decoder_(std::move(decoder)), stop_(std::move(stop)) {}

  // The text that has become certain with this token; may be empty.
  std::string push(TokenId id) {
    std::string certain;
    decoder_.push(id, [&](std::string_view text) { certain += stop_.push(text); });
    return certain;
  }

  // The end: an unfinished character, and what was held back for a stop string that did not come.
  std::string flush() {
    std::string rest;
    decoder_.flush([&](std::string_view text) { rest += stop_.push(text); });
    return rest + stop_.flush();
  }

  // Index of the stop string that has ended the text.
  std::optional<size_t> matched() const { return stop_.matched(); }

 private:
  Decoder decoder_;
  StopStrings stop_;
};

}  // namespace maglio
