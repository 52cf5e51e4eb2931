// Rounding to nearest and subnormals kept, whatever the caller's thread was set to.
//
// A program that embeds the library may have switched its thread to another rounding or to flushing
// subnormals (some audio and game code does); that would change bits. The fixed order of operations
// assumes IEEE 754's defaults (docs/numerics.md), so whoever computes opens this scope first.
#pragma once

#include <cfenv>

namespace maglio {

// The default environment for its lifetime, then the caller's again. For the thread it lives on.
class FloatEnvironment {
 public:
  FloatEnvironment() {
    std::fegetenv(&callers_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatEnvironment() { std::fesetenv(&callers_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t callers_;
};

}  // namespace maglio
