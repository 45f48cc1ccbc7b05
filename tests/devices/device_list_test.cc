// SPDX-License-Identifier: Apache-2.0
#include "devices/device_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "devices/drivers/accelerators.h"
#include "tests/devices/thread_loop.h"

namespace motley {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ListedDevice Listed(const std::string& driver, uint32_t index, const std::string& reason = "") {
  return {.driver = driver,
          .index = index,
          .name = "a device",
          .reason = reason,
          .make = [](Loop&, uint32_t) -> Result<std::unique_ptr<Device>> {
            return Status::Internal("never made");
          }};
}

// A processor, two OpenCL devices of which one works, and no CUDA.
std::vector<ListedDevice> Machine() {
  return {Listed("cpu", 0),
          {.driver = "cuda", .reason = "no NVIDIA driver"},
          Listed("opencl", 0, "has no double precision"),
          Listed("opencl", 1)};
}

std::vector<std::string> Labels(const std::string& choice) {
  const auto chosen = ChooseDevices(Machine(), choice);
  EXPECT_TRUE(chosen.ok()) << chosen.status().ToString();
  std::vector<std::string> labels;
  if (chosen.ok()) {
    for (const DeviceGroup& group : *chosen) labels.push_back(group.Label());
  }
  return labels;
}

TEST(ChooseDevices, ADriverStandsForAllOfItsThatWork) {
  EXPECT_THAT(Labels("cpu"), ElementsAre("cpu:0"));
  EXPECT_THAT(Labels("opencl"), ElementsAre("opencl:1"));
  EXPECT_THAT(Labels("opencl:1,cpu"), ElementsAre("opencl:1", "cpu:0"));
}

TEST(ChooseDevices, APlusJoinsDevicesIntoOneWorkersGroup) {
  EXPECT_THAT(Labels("cpu+opencl"), ElementsAre("cpu:0+opencl:1"));
  EXPECT_THAT(Labels("opencl+cpu,cpu"), ElementsAre("opencl:1+cpu:0", "cpu:0"));
  std::vector<ListedDevice> cards = Machine();
  for (const uint32_t index : {2, 3}) cards.push_back(Listed("opencl", index));
  const auto chosen = ChooseDevices(cards, "opencl,opencl+cpu").value();
  ASSERT_EQ(chosen.size(), 4u) << "a driver between commas means a worker on each of its devices";
  EXPECT_EQ(chosen[3].Label(), "opencl:1+opencl:2+opencl:3+cpu:0");
}

TEST(ChooseDevices, MemoryOfJoinedDevicesAddsExceptTheHosts) {
  ListedDevice cpu = Listed("cpu", 0), again = Listed("opencl", 0), card = Listed("opencl", 1);
  cpu.is_processor = again.is_processor = true;
  cpu.memory_bytes = 10;
  again.memory_bytes = 9;
  card.memory_bytes = 5;
  EXPECT_EQ((DeviceGroup{{cpu, again, card}}).memory_bytes(), 15u);
  EXPECT_EQ((DeviceGroup{{card}}).memory_bytes(), 5u);
  EXPECT_TRUE((DeviceGroup{{cpu, again}}).is_processor());
  EXPECT_FALSE((DeviceGroup{{cpu, card}}).is_processor());
}

TEST(ChooseDevices, RefusalsSayWhy) {
  const auto refusal = [](const std::string& choice) {
    return ChooseDevices(Machine(), choice).status().ToString();
  };
  EXPECT_THAT(refusal("cuda"), AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("motley devices")));
  EXPECT_THAT(refusal("opencl:0"), HasSubstr("has no double precision"));
  EXPECT_THAT(refusal("opencl:7"), HasSubstr("no device with that number"));
  EXPECT_THAT(refusal("tpu"), AllOf(HasSubstr("'tpu'"), HasSubstr("cpu, cuda, opencl")));
  for (const char* twice : {"cpu,cpu:0", "cpu+cpu", "opencl+cpu,opencl:1+cpu:0"}) {
    EXPECT_THAT(refusal(twice), HasSubstr("twice")) << twice;
  }
  for (const char* choice : {"", ",", "cpu,", "cpu+", "+", "+cpu", "cpu++opencl", "cpu+,cpu", ":0",
                             "cpu:", "cpu:x", "cpu:-1", "cpu:99999999999"}) {
    EXPECT_EQ(ChooseDevices(Machine(), choice).code(), StatusCode::kInvalidArgument) << choice;
  }
}

std::vector<std::string> Defaults(const std::vector<ListedDevice>& list) {
  std::vector<std::string> labels;
  for (const ListedDevice& device : DefaultDevices(list)) labels.push_back(device.Label());
  return labels;
}

ListedDevice Named(const std::string& driver, uint32_t index, const std::string& name,
                   bool is_processor = false) {
  ListedDevice device = Listed(driver, index);
  device.name = name;
  device.is_processor = is_processor;
  return device;
}

TEST(DefaultDevices, AreAllThatWorkEachOnce) {
  const ListedDevice cpu = Named("cpu", 0, "a processor", true);
  EXPECT_THAT(Defaults({cpu, {.driver = "cuda", .reason = "none"}}), ElementsAre("cpu:0"));
  // The processor has an OpenCL driver of its own. Two cards have the same name, and OpenCL lists
  // them, too.
  EXPECT_THAT(Defaults({cpu, Named("cuda", 0, "Card"), Named("cuda", 1, "Card"),
                        Named("opencl", 0, "Card"), Named("opencl", 1, "Card"),
                        Named("opencl", 2, "pthread", true), Named("opencl", 3, "Other")}),
              ElementsAre("cpu:0", "cuda:0", "cuda:1", "opencl:3"));
  // A card that a driver cannot use is left to the other drivers.
  ListedDevice old = Named("cuda", 0, "Card");
  old.reason = "too old";
  EXPECT_THAT(Defaults({cpu, old, Named("opencl", 0, "Card")}), ElementsAre("cpu:0", "opencl:0"));
}

TEST(DefaultDevices, NoUsableDeviceIsReportedWithEveryReason) {
  const std::vector<ListedDevice> list = {Listed("cpu", 0, "no kernel module"),
                                          {.driver = "cuda", .reason = "no NVIDIA driver"},
                                          Listed("opencl", 1, "no compiler")};
  EXPECT_THAT(Defaults(list), IsEmpty());
  const Status none = NoUsableDevice(list);
  EXPECT_EQ(none.code(), StatusCode::kUnavailable);
  for (const char* reason : {"cpu:0: no kernel module", "cuda: no NVIDIA", "opencl:1: no comp"}) {
    EXPECT_THAT(none.ToString(), HasSubstr(reason));
  }
}

TEST(AnyAccelerator, IsSeenByItsNodesOrOnTheBus) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "motley_dev_XXXXXX").string();
  const fs::path root = mkdtemp(pattern.data());
  const auto any = [&] { return AnyAccelerator(root / "dev", root / "pci"); };
  EXPECT_FALSE(any());
  fs::create_directories(root / "dev");
  const auto plug = [&](const char* place, const char* kind) {
    fs::create_directories(root / "pci" / place);
    std::ofstream(root / "pci" / place / "class") << kind << "\n";
  };
  plug("0000:00:01.0", "0x020000");
  std::ofstream(root / "dev" / "null");
  EXPECT_FALSE(any());
  plug("0000:00:02.0", "0x030200");
  EXPECT_TRUE(any());
  fs::remove_all(root / "pci" / "0000:00:02.0");
  EXPECT_FALSE(any());
  plug("0000:00:03.0", "0x120000");
  EXPECT_TRUE(any());
  fs::remove_all(root / "pci");
  std::ofstream(root / "dev" / "kfd");
  EXPECT_TRUE(any());
  fs::remove_all(root);
}

TEST(ListDevices, TheProcessorComesFirstAndEveryDriverIsNamed) {
  const auto list = ListDevices();
  ASSERT_GE(list.size(), 3u);
  EXPECT_EQ(list.front().driver, "cpu");
  EXPECT_EQ(list.front().reason, "");
  ThreadLoop loop;
  const auto device = list.front().make(loop, 1);
  ASSERT_TRUE(device.ok()) << device.status().ToString();
  EXPECT_EQ((*device)->info().kind, DeviceKind::kCpu);
  for (const ListedDevice& listed : list) {
    EXPECT_TRUE(listed.make || !listed.reason.empty()) << listed.driver;
  }
}

}  // namespace
}  // namespace motley
