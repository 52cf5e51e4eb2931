// Which part of an answer is thought, and which is said.
//
// Models that reason write their thought first, between <think> and </think>. The tags may come in
// any pieces. Only a tag that opens the answer begins a thought: one that stands in the middle of a
// text is part of the text, as in an explanation of these tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace maglio::app {

class ReasoningSplitter {
 public:
  enum class Start : uint8_t {
    unknown,  // the answer says it
    inside,   // the prompt has opened the thought already
  };
  explicit ReasoningSplitter(Start start = Start::unknown)
      : state_(start == Start::inside ? State::thinking : State::undecided) {}

  struct Part {
    bool is_reasoning;
    std::string text;  // the tags belong to the thought
    bool operator==(const Part&) const = default;
  };

  // The parts that have become certain with this piece.
  std::vector<Part> push(std::string_view piece);
  // The end: what was held back.
  std::vector<Part> flush();

 private:
  enum class State : uint8_t { undecided, thinking, answering };

  State state_;
  std::string pending_;  // white space, or the beginning of a tag
};

}  // namespace maglio::app
