// SPDX-License-Identifier: Apache-2.0
// Kernels under test on a device of a driver that is loaded at run time.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "devices/drivers/driver.h"
#include "test_paths.h"
#include "tests/conformance/kernels_suite.h"

namespace motley::conformance {

// A device of this build's driver "opencl" or "cuda".
struct DriverCase {
  std::string name;     // "opencl0"
  std::string why_not;  // Why there is nothing to test; empty if there is.
  const motley_driver* driver = nullptr;
  size_t device = 0;
  uint64_t id = 0;
};

inline std::ostream& operator<<(std::ostream& out, const DriverCase& c) { return out << c.name; }

inline std::string NameOfDriverCase(const ::testing::TestParamInfo<DriverCase>& info) {
  return info.param.name;
}

// The path in the folder MOTLEY_MODULE_DIR, if set, otherwise in this build's folder.
inline std::string DriverPath(const std::string& name) {
  const char* chosen = std::getenv("MOTLEY_MODULE_DIR");
  return fmt::format("{}/motley-{}.so", chosen != nullptr ? chosen : MOTLEY_BINARY_DIR "/modules",
                     name);
}

// The driver's table, or null and the reason.
inline std::pair<const motley_driver*, std::string> LoadDriver(const std::string& name) {
  const std::string path = DriverPath(name);
  if (!std::filesystem::exists(path)) {
    return {nullptr, fmt::format("this build has no {}: configure says why", path)};
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, fmt::format("cannot load {}: {}", path, dlerror())};
  const auto entry = reinterpret_cast<motley_driver_entry>(dlsym(library, MOTLEY_DRIVER_SYMBOL));
  const motley_driver* driver = entry == nullptr ? nullptr : entry(MOTLEY_DRIVER_VERSION);
  if (driver == nullptr) return {nullptr, path + " does not speak this version of the table"};
  return {driver, ""};
}

// A case for each device, usable or not. If there is none, one case with the reason.
inline std::vector<DriverCase> DriverCases(const std::string& name) {
  const auto [driver, why_not] = LoadDriver(name);
  if (driver == nullptr) return {{name, why_not}};
  char reason[1024] = "";
  const size_t count = driver->find(reason, sizeof(reason));
  if (count == 0) return {{name, reason, driver}};
  std::vector<DriverCase> cases;
  for (size_t i = 0; i < count; ++i) {
    motley_driver_device device{};
    driver->describe(i, &device);
    cases.push_back({name + std::to_string(i), device.reason, driver, i, device.id});
  }
  return cases;
}

// An open queue of a device. The destructor closes it; unexpected failures fail the test.
class DriverQueue {
 public:
  // All tests of this build share the compiled programs.
  static constexpr const char* kCacheFolder = MOTLEY_BINARY_DIR "/tests/device_cache";

  explicit DriverQueue(const DriverCase& c, const char* cache_folder = kCacheFolder)
      : driver_(*c.driver) {
    char error[4096] = "";
    queue_ = driver_.open(c.id, cache_folder, error, sizeof(error));
    if (queue_ == nullptr) ADD_FAILURE() << error;
    MOTLEY_ASSERT(queue_ != nullptr);
  }
  DriverQueue(const DriverQueue&) = delete;
  ~DriverQueue() {
    const auto [code, error] = Finish();
    EXPECT_EQ(code, MOTLEY_DRIVER_OK) << error;
    driver_.close(queue_);
  }

  const motley_driver& driver() const { return driver_; }
  motley_driver_queue* get() const { return queue_; }
  const motley_kernels& kernels() const { return *driver_.kernels(queue_); }
  // Copies in the order of calls, on any driver's queue.
  static int In(const motley_driver& driver, motley_driver_queue* queue, void* to, const void* from,
                size_t size_bytes) {
    return driver.copy_in(queue, MOTLEY_DRIVER_NOW, to, from, size_bytes);
  }
  static int Out(const motley_driver& driver, motley_driver_queue* queue, void* to,
                 const void* from, size_t size_bytes, uint64_t after = MOTLEY_DRIVER_NOW) {
    const auto take = [](void* context, size_t offset, const void* bytes, size_t size) {
      std::memcpy(static_cast<std::byte*>(context) + offset, bytes, size);
    };
    return driver.copy_out(queue, after, from, size_bytes, take, to);
  }
  // The outcome of all calls so far.
  std::pair<int, std::string> Finish() const {
    char error[4096] = "";
    const int code = driver_.finish(queue_, error, sizeof(error));
    return {code, error};
  }

 private:
  const motley_driver& driver_;
  motley_driver_queue* queue_ = nullptr;
};

// Each operand has an allocation of its own and starts 8 bytes into it.
class DriverRig final : public KernelRig {
 public:
  explicit DriverRig(const DriverCase& c) : queue_(c) {}
  ~DriverRig() override {
    for (void* memory : memory_) queue_.driver().free(queue_.get(), memory);
  }
  const motley_kernels& table() const override { return queue_.kernels(); }
  void* queue() const override { return queue_.get(); }
  void* Store(const void* bytes, size_t size_bytes) override {
    constexpr size_t kOffset = 8;
    void* block = queue_.driver().allocate(queue_.get(), kOffset + size_bytes);
    MOTLEY_ASSERT(block != nullptr);
    memory_.push_back(block);
    void* data = static_cast<std::byte*>(block) + kOffset;
    EXPECT_EQ(DriverQueue::In(queue_.driver(), queue_.get(), data, bytes, size_bytes),
              MOTLEY_DRIVER_OK);
    return data;
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    EXPECT_EQ(DriverQueue::Out(queue_.driver(), queue_.get(), bytes, stored, size_bytes),
              MOTLEY_DRIVER_OK);
  }

 private:
  const DriverQueue queue_;
  std::vector<void*> memory_;
};

// The devices of `driver` as cases of KernelsSuite.
inline std::vector<KernelsCase> DriverKernelsCases(const std::string& driver) {
  std::vector<KernelsCase> cases;
  for (const DriverCase& c : DriverCases(driver)) {
    cases.push_back(
        {c.name, c.why_not, [c] { return std::make_unique<DriverRig>(c); }, /*large=*/true});
  }
  return cases;
}

}  // namespace motley::conformance
