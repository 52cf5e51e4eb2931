#include "base/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cgroup.h"

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

size_t cgroup_limit(const fs::path& root) {
  size_t limit = static_cast<size_t>(-1);
  for (const Cgroup& group : cgroups_of_process(root, "cpu")) {
    const auto cpus = group.version == 2 ? quota_v2(group.folder) : quota_v1(group.folder);
    limit = std::min(limit, cpus.value_or(limit));
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
