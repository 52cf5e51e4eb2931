#include "base/available_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace maglio {
namespace {

class AvailableMemory : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path p = root_ / file;
    std::filesystem::create_directories(p.parent_path());
    std::ofstream(p) << text << '\n';
  }
  std::optional<uint64_t> available() const { return available_memory(root_.path()); }

  test::TempDir root_;
};

TEST_F(AvailableMemory, IsWhatTheSystemSays) {
  write("proc/meminfo", "MemTotal:       2000 kB\nMemFree:    100 kB\nMemAvailable:    1500 kB");
  EXPECT_EQ(available(), 1500u * 1024);
}

TEST_F(AvailableMemory, IsUnknownWhereNobodySays) {
  EXPECT_EQ(available(), std::nullopt);
  write("proc/meminfo", "MemTotal:       2000 kB\nMemAvailable: ?");
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(AvailableMemory, TheTightestControlGroupLimits) {
  write("proc/meminfo", "MemAvailable:    1000 kB");
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/b/memory.max", "max");
  write("sys/fs/cgroup/a/b/memory.current", "1000");
  EXPECT_EQ(available(), 1000u * 1024);
  write("sys/fs/cgroup/a/memory.max", "500000");
  write("sys/fs/cgroup/a/memory.current", "200000");
  EXPECT_EQ(available(), 300'000u);
}

TEST_F(AvailableMemory, FilesThatAGroupOnlyCachesAreLeft) {
  write("proc/meminfo", "MemAvailable:    1000 kB");
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/memory.max", "500000");
  write("sys/fs/cgroup/memory.current", "450000");
  write("sys/fs/cgroup/memory.stat",
        "anon 50000\nfile 400000\ninactive_file 300000\n"
        "active_file 90000");
  EXPECT_EQ(available(), 440'000u);
}

TEST_F(AvailableMemory, AGroupBeyondItsLimitHasNothingLeft) {
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/memory.max", "500000");
  write("sys/fs/cgroup/memory.current", "600000");
  EXPECT_EQ(available(), 0u);
}

TEST_F(AvailableMemory, OldControlGroupsLimitToo) {
  write("proc/meminfo", "MemAvailable:    1000 kB");
  write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x");
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "400000");
  write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "100000");
  write("sys/fs/cgroup/memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 50000");
  EXPECT_EQ(available(), 350'000u);
}

TEST_F(AvailableMemory, OfThisMachineIsThereAndNotZero) {
  ASSERT_TRUE(available_memory());
  EXPECT_GT(*available_memory(), 0u);
}

}  // namespace
}  // namespace maglio
