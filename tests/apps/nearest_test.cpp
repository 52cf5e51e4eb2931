#include "maglio/nearest.h"

#include <gtest/gtest.h>

#include <string>

namespace maglio::app {
namespace {

constexpr std::string_view kNames[] = {"/regen", "/clear", "/read", "/help", "/system"};

std::string nearest(std::string_view word) {
  return std::string(nearest_name(word, kNames).value_or("-"));
}

TEST(Nearest, FindsWhatWasMistyped) {
  EXPECT_EQ(nearest("/claer"), "/clear");
  EXPECT_EQ(nearest("/hlp"), "/help");
  EXPECT_EQ(nearest("/raed"), "/read");
  EXPECT_EQ(nearest("/sytsem"), "/system");
  EXPECT_EQ(nearest("/sys"), "/system") << "a beginning";
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("/fly"), "-");
  EXPECT_EQ(nearest(""), "-");
  EXPECT_EQ(nearest(std::string(100'000, 'x')), "-");
}

}  // namespace
}  // namespace maglio::app
