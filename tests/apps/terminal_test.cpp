#include "maglio/terminal.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace maglio::app {
namespace {

TEST(Terminal, AFileThatIsCutWhileItIsReadEndsTheProgramWithASentence) {
  EXPECT_EXIT(
      {
        explain_cut_files();
        raise(SIGBUS);
      },
      testing::ExitedWithCode(1), "maglio: a model file was cut short while it was being read");
}

}  // namespace
}  // namespace maglio::app
