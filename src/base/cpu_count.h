// How many threads this process should compute with.
//
// Not the machine's CPUs: a container or taskset may allow fewer (affinity), a cgroup may allow
// only a share of their time (quota: cpu.max in v2, cpu.cfs_quota_us in v1), and two hyperthreads
// of one core share the units that do the work, so a physical core counts once.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace maglio {

// Physical cores within affinity and cgroup quota; at least 1.
size_t default_thread_count();

// Logical CPUs that the calling thread may run on; at least 1.
size_t usable_cpu_count();

// default_thread_count() as a function of its inputs: the numbers of the allowed CPUs, and `root`,
// the folder that proc/ and sys/ are read from. Files that are missing or unreadable limit nothing.
size_t count_cores(const std::filesystem::path& root, std::span<const int> allowed_cpus);

}  // namespace maglio
