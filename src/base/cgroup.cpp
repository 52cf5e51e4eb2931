#include "base/cgroup.h"

#include <fstream>

namespace maglio {
namespace {

namespace fs = std::filesystem;

// The group and all above it, up to the mount point.
void add_with_parents(int version,
                      const fs::path& mount,
                      const std::string& group,
                      std::vector<Cgroup>& all) {
  fs::path inside = fs::path(group).relative_path();
  for (;;) {
    all.push_back({version, mount / inside});
    if (inside.empty()) return;
    inside = inside.parent_path();
  }
}

bool lists(const std::string& controllers, std::string_view controller) {
  return ("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos;
}

}  // namespace

std::vector<Cgroup> cgroups_of_process(const fs::path& root, std::string_view controller) {
  std::vector<Cgroup> all;
  std::ifstream groups(root / "proc/self/cgroup");
  // Lines are "hierarchy:controllers:path"; v2 is hierarchy 0 with no controllers.
  for (std::string line; std::getline(groups, line);) {
    const size_t a = line.find(':');
    const size_t b = a == std::string::npos ? a : line.find(':', a + 1);
    if (b == std::string::npos) continue;
    const std::string controllers = line.substr(a + 1, b - a - 1);
    const std::string group = line.substr(b + 1);
    if (controllers.empty()) {
      for (const char* mount : {"sys/fs/cgroup", "sys/fs/cgroup/unified"}) {
        add_with_parents(2, root / mount, group, all);
      }
    } else if (lists(controllers, controller)) {
      for (const std::string& mount : {std::string(controller), controllers}) {
        add_with_parents(1, root / "sys/fs/cgroup" / mount, group, all);
      }
    }
  }
  return all;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace maglio
