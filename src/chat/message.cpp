#include <fmt/format.h>

#include <array>

#include "maglio/conversation.h"
#include "maglio/error.h"

namespace maglio {
namespace {

constexpr std::array<std::string_view, 4> kRoleNames = {"system", "user", "assistant", "tool"};

}  // namespace

std::string_view to_string(Role role) {
  return kRoleNames[static_cast<size_t>(role)];
}

Role role_from_string(std::string_view name) {
  for (size_t i = 0; i < kRoleNames.size(); ++i) {
    if (kRoleNames[i] == name) return static_cast<Role>(i);
  }
  throw Error(ErrorKind::bad_request, "UnknownRole",
              fmt::format("role: expected system, user, assistant or tool, found '{}'", name));
}

}  // namespace maglio
