#include "base/cpu_count.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace maglio {
namespace {

// A /proc and /sys of our own making.
class FakeRoot {
 public:
  const std::filesystem::path& path() const { return dir_.path(); }

  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path p = dir_ / file;
    std::filesystem::create_directories(p.parent_path());
    std::ofstream(p) << text << '\n';
  }

  // CPU i is a thread of core core_ids[i] of the given package.
  void cores(const std::vector<int>& core_ids, int package = 0, int first_cpu = 0) {
    for (size_t i = 0; i < core_ids.size(); ++i) {
      const std::string folder = "sys/devices/system/cpu/cpu" +
                                 std::to_string(first_cpu + static_cast<int>(i)) + "/topology/";
      write(folder + "core_id", std::to_string(core_ids[i]));
      write(folder + "physical_package_id", std::to_string(package));
    }
  }

 private:
  test::TempDir dir_;
};

TEST(CpuCount, HyperthreadsOfACoreCountOnce) {
  FakeRoot root;
  root.cores({0, 1, 2, 3, 0, 1, 2, 3});
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3, 4, 5, 6, 7}), 4u);
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 4}), 1u);
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 5}), 2u);
}

TEST(CpuCount, SameCoreNumberInTwoPackagesIsTwoCores) {
  FakeRoot root;
  root.cores({0, 1});
  root.cores({0, 1}, 1, 2);
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 4u);
}

TEST(CpuCount, UnknownTopologyTakesEveryCpuForACore) {
  FakeRoot root;
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2}), 3u);
  EXPECT_EQ(count_cores(root.path(), std::vector<int>{}), 1u);
}

TEST(CpuCount, CgroupV2QuotaLimitsAtEveryLevel) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/a/b");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 4u);
  root.write("sys/fs/cgroup/a/cpu.max", "250000 100000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 2u);
  root.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 1u);
}

TEST(CpuCount, InsideAContainerTheRootOfTheMountLimits) {
  FakeRoot root;
  root.write("proc/self/cgroup", "0::/docker/0123abcd");  // the folder is not visible in here
  root.write("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 2u);
}

TEST(CpuCount, CgroupV1QuotaLimits) {
  FakeRoot root;
  root.write("proc/self/cgroup", "3:cpuset:/x\n1:cpu,cpuacct:/x\n0::/");
  root.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1");
  root.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 4u);
  root.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "300000");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1, 2, 3}), 3u);
}

TEST(CpuCount, NonsenseInTheFilesLimitsNothing) {
  FakeRoot root;
  root.write("proc/self/cgroup", "nonsense\n0::/\n::::");
  root.write("sys/fs/cgroup/cpu.max", "none at all");
  EXPECT_EQ(count_cores(root.path(), std::vector{0, 1}), 2u);
}

TEST(CpuCount, ThisMachineHasAtLeastOneCore) {
  EXPECT_GE(default_thread_count(), 1u);
  EXPECT_LE(default_thread_count(), usable_cpu_count());
}

}  // namespace
}  // namespace maglio
