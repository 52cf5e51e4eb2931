// The control groups that limit this process: Linux's way of giving a container a share of a
// machine.
//
// A group's limits hold for all groups below it, so every group from the process's own up to the
// mount point has to be asked. Both versions of the interface are in use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace maglio {

struct Cgroup {
  int version = 2;
  std::filesystem::path folder;  // of its files; may not exist
};

// The groups of this process that the controller ("cpu", "memory") can limit.
// `root` stands for "/" (tests use a made-up one).
std::vector<Cgroup> cgroups_of_process(const std::filesystem::path& root,
                                       std::string_view controller);

// The first line of a small file; empty where there is none.
std::string first_line(const std::filesystem::path& file);

}  // namespace maglio
