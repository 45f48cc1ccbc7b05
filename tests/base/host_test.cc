// SPDX-License-Identifier: Apache-2.0
// Tests how much memory a process may use, with files as containers show them.
#include "base/host.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace motley {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

class HostMemory : public testing::Test {
 protected:
  HostMemory() : root_(testing::TempDir() + "motley_host_memory_" + Name()) {
    std::filesystem::remove_all(root_);
    Write("/proc/meminfo",
          "MemTotal:       16777216 kB\nMemFree:  12 kB\nMemAvailable:    8388608 kB\n");
  }
  ~HostMemory() override { std::filesystem::remove_all(root_); }

  static std::string Name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void Write(const std::string& path, uint64_t bytes) { Write(path, std::to_string(bytes) + "\n"); }

  std::string root_;
};

TEST_F(HostMemory, WithoutGroupsIsTheMachines) {
  EXPECT_EQ(HostMemoryBytes(root_), 16384 * kMib);
  EXPECT_EQ(SharedMemoryBytes(root_), 16384 * kMib);
  EXPECT_EQ(AvailableMemoryBytes(root_), 8192 * kMib);
}

TEST_F(HostMemory, IsUnknownWithoutSystemFiles) {
  std::filesystem::remove_all(root_);
  EXPECT_EQ(HostMemoryBytes(root_), 0u);
  EXPECT_EQ(AvailableMemoryBytes(root_), 0u);
}

TEST_F(HostMemory, IsTheTightestOfAllGroupsAboveTheProcess) {
  Write("/proc/self/cgroup", "0::/kubepods/pod7/box\n");
  Write("/sys/fs/cgroup/kubepods/memory.max", 6144 * kMib);
  Write("/sys/fs/cgroup/kubepods/memory.current", 1024 * kMib);
  Write("/sys/fs/cgroup/kubepods/pod7/memory.max", 4096 * kMib);
  Write("/sys/fs/cgroup/kubepods/pod7/memory.current", 1000 * kMib);
  Write("/sys/fs/cgroup/kubepods/pod7/memory.stat",
        "anon 1\nfile 900\nactive_file 7\ninactive_file " + std::to_string(300 * kMib) +
            "\nslab 1\n");
  Write("/sys/fs/cgroup/kubepods/pod7/box/memory.max", "max\n");
  EXPECT_EQ(HostMemoryBytes(root_), 4096 * kMib);
  EXPECT_EQ(AvailableMemoryBytes(root_), (4096 - 700) * kMib) << "unused file pages count as free";
}

TEST_F(HostMemory, SeesTheOlderLayoutAndItsValueForNoLimit) {
  Write("/proc/self/cgroup",
        "9:name=systemd:/\n5:devices:/a\n4:cpu,memory:/jobs/17\n2:cpuacct:/b\n0::/\n");
  Write("/sys/fs/cgroup/memory/jobs/17/memory.limit_in_bytes", 9223372036854771712u);
  Write("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", 2048 * kMib);
  Write("/sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", 500 * kMib);
  Write("/sys/fs/cgroup/memory/jobs/memory.stat",
        "inactive_file 1\ntotal_inactive_file " + std::to_string(100 * kMib) + "\n");
  EXPECT_EQ(HostMemoryBytes(root_), 2048 * kMib);
  EXPECT_EQ(AvailableMemoryBytes(root_), (2048 - 400) * kMib);
}

// Docker with the older layout: the list names the host's path, the mount shows the container's.
TEST_F(HostMemory, FallsBackToTheRootOfTheTreeThatTheContainerSees) {
  Write("/proc/self/cgroup", "4:memory:/docker/0123456789abcdef\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", 512 * kMib);
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", 100 * kMib);
  EXPECT_EQ(HostMemoryBytes(root_), 512 * kMib);
  EXPECT_EQ(AvailableMemoryBytes(root_), 412 * kMib);
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", 256 * kMib);
  EXPECT_EQ(HostMemoryBytes(root_), 256 * kMib);
}

TEST_F(HostMemory, IsOneByteNotUnknownInAFullGroup) {
  Write("/proc/self/cgroup", "0::/box\n");
  Write("/sys/fs/cgroup/box/memory.max", 100 * kMib);
  Write("/sys/fs/cgroup/box/memory.current", 120 * kMib);
  EXPECT_EQ(AvailableMemoryBytes(root_), 1u);
}

// Sets limits that leave room for 64 MiB more.
class OwnLimit : public testing::TestWithParam<decltype(RLIMIT_AS)> {
 protected:
  OwnLimit() {
    getrlimit(GetParam(), &before_);
    std::ifstream status("/proc/self/status");
    const std::string name = GetParam() == RLIMIT_AS ? "VmSize:" : "VmData:";
    std::string word;
    uint64_t kib = 0;
    while (word != name && status >> word) continue;
    status >> kib;
    rlimit limit = before_;
    limit.rlim_cur = std::min<rlim_t>(before_.rlim_max, (kib << 10) + 64 * kMib);
    EXPECT_EQ(setrlimit(GetParam(), &limit), 0);
  }
  ~OwnLimit() override { setrlimit(GetParam(), &before_); }

  rlimit before_{};
};

TEST_P(OwnLimit, LeavesWhatIsNotTakenYet) {
  EXPECT_GT(HostMemoryBytes(), 0u);
  EXPECT_LE(AvailableMemoryBytes(), 65 * kMib);  // Reading the size took some memory itself.
  EXPECT_GT(AvailableMemoryBytes(), 32 * kMib);
}

INSTANTIATE_TEST_SUITE_P(OfAddressesAndOfData, OwnLimit, testing::Values(RLIMIT_AS, RLIMIT_DATA));

TEST(ThisProcess, HasMemoryAndNotMoreThanItsMachine) {
  EXPECT_GT(AvailableMemoryBytes(), 1u);
  EXPECT_LE(HostMemoryBytes(), SharedMemoryBytes());
  EXPECT_LE(AvailableMemoryBytes(), SharedMemoryBytes());
}

}  // namespace
}  // namespace motley
