// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/hardware.h"

#include <hwloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "api/device_call.h"
#include "base/host.h"
#include "data/readers.h"
#include "fmt/core.h"

namespace motley {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // Larger than caches.
constexpr int kPasses = 5;

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;
Bitmap MakeBitmap() { return Bitmap(hwloc_bitmap_alloc(), &hwloc_bitmap_free); }

// The value from the first object that has it: a package, or else the machine.
std::string InfoOf(hwloc_topology_t topology, const char* name) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_MACHINE}) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, 0);
    const char* info = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
    if (info != nullptr) return info;
  }
  return "";
}

uint32_t Count(hwloc_topology_t topology, hwloc_const_cpuset_t within, hwloc_obj_type_t type) {
  uint32_t count = 0;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    count += hwloc_bitmap_intersects(object->cpuset, within) != 0 ? 1 : 0;
  }
  return count;
}

// The number of threads of each kind, the least powerful kind first: "4+8".
std::string Kinds(hwloc_topology_t topology, hwloc_const_cpuset_t within) {
  const int kinds = hwloc_cpukinds_get_nr(topology, 0);
  std::string text;
  for (int kind = 0; kinds > 1 && kind < kinds; ++kind) {
    const Bitmap set = MakeBitmap();
    hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), set.get(), nullptr, nullptr,
                            nullptr, 0);
    hwloc_bitmap_and(set.get(), set.get(), within);
    text += fmt::format("{}{}", text.empty() ? "" : "+", hwloc_bitmap_weight(set.get()));
  }
  return text;
}

// Keeps the compiler from removing the reads.
std::atomic<uint64_t> read_sum{0};

Status Read(Device& device, double& best) {
  uint64_t bytes = std::min(kMostBytes, device.info().memory_bytes / 8);
  if (const uint64_t free = AvailableMemoryBytes(); free > 0) bytes = std::min(bytes, free / 8);
  MOTLEY_ASSIGN_OR_RETURN(const Buffer buffer, device.Allocate(bytes));
  auto* words = static_cast<uint64_t*>(buffer.data());
  const size_t count = bytes / sizeof(uint64_t);
  constexpr size_t kGrain = 1 << 16;
  ParallelFor& parallel = device.parallel();
  parallel.For(count, kGrain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) words[i] = i;
  });
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    parallel.For(count, kGrain, [&](size_t begin, size_t end) {
      uint64_t sum = 0;
      for (size_t i = begin; i < end; ++i) sum += words[i];
      read_sum.fetch_add(sum, std::memory_order_relaxed);
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() > 0) best = std::max(best, static_cast<double>(bytes) / taken.count());
  }
  return Status::Ok();
}

// Calls `use` with hwloc's topology of the machine and the threads that this process may use.
template <typename Use>
void WithTopology(const Use& use) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  if (hwloc_topology_load(topology) == 0) {
    const Bitmap allowed = MakeBitmap();
    if (hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
      hwloc_bitmap_copy(allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
    }
    use(topology, allowed.get());
  }
  hwloc_topology_destroy(topology);
}

}  // namespace

HardwareFacts ReadHardware() {
  HardwareFacts facts;
  WithTopology([&facts](hwloc_topology_t topology, hwloc_const_cpuset_t allowed) {
    facts.vendor = InfoOf(topology, "CPUVendor");
    facts.model = InfoOf(topology, "CPUModel");
    facts.cores = Count(topology, allowed, HWLOC_OBJ_CORE);
    facts.threads = Count(topology, allowed, HWLOC_OBJ_PU);
    facts.core_kinds = Kinds(topology, allowed);
  });
  return facts;
}

std::string ProcessorParts() {
  std::string parts;
  WithTopology([&parts](hwloc_topology_t topology, hwloc_const_cpuset_t allowed) {
    const uint32_t nodes = Count(topology, allowed, HWLOC_OBJ_NUMANODE);
    if (nodes > 1) parts = fmt::format("{} NUMA nodes", nodes);
    const std::string kinds = Kinds(topology, allowed);
    if (kinds.empty()) return;
    parts += fmt::format("{}{} threads of each kind", parts.empty() ? "" : ", ", kinds);
  });
  return parts;
}

double MeasureMemory(UvLoop& loop, Device& device) {
  double best = 0;
  // Without enough memory to measure, only this number is missing.
  const Status status = CallOnDevice(loop, device, [&] { return Read(device, best); });
  return status.ok() ? best : 0;
}

}  // namespace motley
