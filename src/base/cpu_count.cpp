#include "base/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace maglio {
namespace {

namespace fs = std::filesystem;

std::vector<int> affinity() {
  std::vector<int> cpus;
  // Large enough for 8192 CPUs, the limit of the largest Linux kernels.
  std::vector<cpu_set_t> sets(8192 / (8 * sizeof(cpu_set_t)));
  const size_t bytes = sets.size() * sizeof(cpu_set_t);
  if (sched_getaffinity(0, bytes, sets.data()) != 0) return cpus;
  for (int cpu = 0; cpu < 8192; ++cpu) {
    if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, sets.data())) cpus.push_back(cpu);
  }
  return cpus;
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<long long> as_number(const std::string& text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// Whole CPUs in a quota of `quota` us of CPU time per `period` us; "max" and -1 mean no limit.
std::optional<size_t> whole_cpus(const std::string& quota, const std::string& period) {
  const auto q = as_number(quota);
  const auto p = as_number(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
  return static_cast<size_t>(std::max(1LL, *q / *p));
}

std::optional<size_t> quota_v2(const fs::path& group) {
  const std::string line = first_line(group / "cpu.max");  // "150000 100000" or "max 100000"
  const size_t space = line.find(' ');
  if (space == std::string::npos) return std::nullopt;
  return whole_cpus(line.substr(0, space), line.substr(space + 1));
}

std::optional<size_t> quota_v1(const fs::path& group) {
  return whole_cpus(first_line(group / "cpu.cfs_quota_us"),
                    first_line(group / "cpu.cfs_period_us"));
}

// The smallest quota of a group and all groups above it, up to the mount point: each limits.
template <class Quota>
size_t smallest_quota(const fs::path& mount, const std::string& group, const Quota& quota) {
  size_t smallest = static_cast<size_t>(-1);
  fs::path inside = fs::path(group).relative_path();
  for (;;) {
    if (const auto cpus = quota(mount / inside)) smallest = std::min(smallest, *cpus);
    if (inside.empty()) return smallest;
    inside = inside.parent_path();
  }
}

bool lists_cpu_controller(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

size_t cgroup_limit(const fs::path& root) {
  size_t limit = static_cast<size_t>(-1);
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
        limit = std::min(limit, smallest_quota(root / mount, group, quota_v2));
      }
    } else if (lists_cpu_controller(controllers)) {
      for (const std::string& mount : {std::string("cpu"), controllers}) {
        limit = std::min(limit, smallest_quota(root / "sys/fs/cgroup" / mount, group, quota_v1));
      }
    }
  }
  return limit;
}

}  // namespace

size_t count_cores(const fs::path& root, std::span<const int> allowed_cpus) {
  std::set<std::pair<std::string, std::string>> cores;
  for (const int cpu : allowed_cpus) {
    const fs::path topology =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "topology";
    const std::string core = first_line(topology / "core_id");
    // Unknown topology: a CPU is taken for a core of its own.
    cores.emplace(first_line(topology / "physical_package_id"),
                  core.empty() ? "cpu" + std::to_string(cpu) : core);
  }
  return std::max<size_t>(1, std::min(cores.size(), cgroup_limit(root)));
}

size_t default_thread_count() {
  return count_cores("/", affinity());
}

size_t usable_cpu_count() {
  return std::max<size_t>(1, affinity().size());
}

}  // namespace maglio
