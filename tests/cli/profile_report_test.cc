// SPDX-License-Identifier: Apache-2.0
#include "cli/report/profile_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace motley {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ClusterProfile Measured() {
  ClusterProfile profile;
  profile.model = "mlp:8";
  profile.gradient_bytes = 332;
  DeviceProfile& device = profile.workers.emplace_back().device;
  device.name = "here";
  device.samples_per_second = 1000;
  device.overhead_seconds = 0.002;
  device.knee_samples = 32;
  device.max_samples = 2000;
  device.jitter = 0.05;
  device.memory_bytes = uint64_t{8} << 30;
  device.hardware.model = "Some Processor";
  device.hardware.cores = 1;
  device.hardware.threads = 2;
  profile.workers[0].link = {0.001, 1e9, LinkDirection{0.002, 2e9}};
  return profile;
}

TEST(ProfileTable, SaysWhatWasMeasured) {
  const std::string table = ProfileTable(Measured(), false);
  for (const char* words :
       {"here (cpu ", "Some Processor, 1 core, 2 threads, 8 GiB", "mlp:8      1000 samples/s",
        "overhead 2 ms, full from 32 samples on, noise 5 %", "up 1 GB/s after 1 ms",
        "down 2 GB/s after 2 ms"}) {
    EXPECT_THAT(table, HasSubstr(words));
  }
  EXPECT_THAT(table, Not(HasSubstr("of pieces")));
  EXPECT_THAT(table, Not(HasSubstr("--fresh")));
  EXPECT_THAT(table, HasSubstr("1024"));
  EXPECT_THAT(table, Not(HasSubstr("4096"))) << "does not fit";
  EXPECT_THAT(ProfileTable(Measured(), true), HasSubstr("--fresh measures again"));
}

TEST(ProfileTable, LeavesOutWhatIsNotKnown) {
  ClusterProfile profile = Measured();
  profile.workers[0].link = {};
  profile.workers[0].device.hardware = {};
  const std::string table = ProfileTable(profile, false);
  EXPECT_THAT(table, HasSubstr("a processor without a name"));
  EXPECT_THAT(table, HasSubstr("not measured"));
}

TEST(ProfileJson, HasItAll) {
  const auto json = nlohmann::json::parse(ProfileJson(Measured(), true));
  EXPECT_EQ(json["cached"], true);
  EXPECT_EQ(json["model"], "mlp:8");
  EXPECT_EQ(json["gradient_bytes"], 332);
  EXPECT_EQ(json["device"]["knee_samples"], 32);
  EXPECT_EQ(json["link"]["down"]["bytes_per_second"], 2e9);
  // Up to the knee all sizes take the same time.
  EXPECT_EQ(json["times"][0]["seconds"], json["times"][1]["seconds"]);
  EXPECT_DOUBLE_EQ(json["times"][1]["seconds"], 0.034);
}

}  // namespace
}  // namespace motley
