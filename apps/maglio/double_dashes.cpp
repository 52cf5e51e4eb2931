#include <algorithm>
#include <map>
#include <string_view>

#include "maglio/commands.h"

namespace maglio::app {
namespace {

const std::map<std::string_view, std::vector<std::string_view>> kOneDash = {
    {"bench", {"-pg", "-ub", "-ctk", "-ctv", "-oe", "-npl"}},
    {"run", {"-sys", "-sysf", "-st", "-cnv", "-co"}},
};

}  // namespace

std::vector<std::string> with_double_dashes(std::string_view command,
                                            std::vector<std::string> arguments) {
  const auto flags = kOneDash.find(command);
  if (flags == kOneDash.end()) return arguments;
  for (std::string& argument : arguments) {
    if (std::ranges::count(flags->second, argument) > 0) argument.insert(argument.begin(), '-');
  }
  return arguments;
}

}  // namespace maglio::app
