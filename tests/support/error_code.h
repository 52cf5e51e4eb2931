// The code of the Error that something ends in, or "none".
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "maglio/error.h"

namespace maglio::test {

std::string code_of(auto&& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return error.code();
  }
  return "none";
}

}  // namespace maglio::test
