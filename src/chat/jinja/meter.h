// What one rendering may use, and where it stands.
//
// A template comes with a model file, from anywhere. It may compute, but only so much: every
// evaluated node is a step, long texts and lists cost more, nesting and sizes are bounded. A
// template that loops for ever ends by these limits, at the same place on every machine; no clock
// is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace maglio::jinja {

struct Position {
  uint32_t line = 1;
  uint32_t column = 1;  // [bytes]
};

struct Limits {
  uint64_t steps = 10'000'000;
  size_t depth = 1000;            // of evaluations inside each other
  size_t text_bytes = 16u << 20;  // of one text
};

// Names that are looked through for the price of a step.
inline constexpr size_t kEntriesPerStep = 16;

class Meter {
 public:
  Meter(const Limits& limits, std::time_t now) : limits_(limits), now_(now) {}

  // Throws, as do the others: Error bad_file "TemplateLimit".
  void step(uint64_t n = 1) {
    steps_ += n;
    if (steps_ > limits_.steps) out_of_steps();
  }
  // Before a text of so many bytes is made.
  void text(size_t bytes);
  // Before `more` bytes are added to a text of so many. Small pieces add up to whole steps.
  void grow(size_t bytes, size_t more);
  // So many new values at once.
  void values(size_t n) { step(kStepsPerValue * n); }

  // Throws: Error bad_request "TemplateError" with the place that is evaluated.
  [[noreturn]] void fail(std::string_view message) const;
  // The same for what raise_exception says: code "TemplateRefused".
  [[noreturn]] void refuse(std::string_view message) const;

  // One level deeper, as long as it lives.
  class Level {
   public:
    explicit Level(Meter& meter) : meter_(meter) {
      if (++meter_.depth_ > meter_.limits_.depth) meter_.too_deep();
    }
    ~Level() { --meter_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Meter& meter_;
  };

  std::time_t now() const { return now_; }

  Position at;  // of the node that is evaluated

 private:
  static constexpr uint64_t kStepsPerValue = 4;  // a step is about 50 bytes of memory at most

  [[noreturn]] void out_of_steps() const;
  [[noreturn]] void too_long(size_t bytes) const;
  [[noreturn]] void too_deep();

  Limits limits_;
  std::time_t now_;
  uint64_t steps_ = 0;
  size_t depth_ = 0;
  size_t loose_bytes_ = 0;  // not yet a step
};

}  // namespace maglio::jinja
