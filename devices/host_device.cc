// SPDX-License-Identifier: Apache-2.0
#include "devices/host_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/host.h"

namespace motley {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

Status CheckRange(const Buffer& buffer, size_t offset, size_t size_bytes) {
  if (offset <= buffer.size_bytes() && size_bytes <= buffer.size_bytes() - offset) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("{} bytes at offset {} exceed a buffer of {} bytes",
                                             size_bytes, offset, buffer.size_bytes()));
}

uint64_t HostMemoryOf(const Device& device) {
  for (const Device* part : device.parts()) {
    if (part->host_accessible()) return part->info().memory_bytes;
  }
  const bool hosts = device.parts().empty() && device.host_accessible();
  return hosts ? device.info().memory_bytes : HostMemoryBytes();
}

HostDevice::HostDevice(DeviceInfo info, const motley_kernels& kernels)
    : info_(std::move(info)), kernels_(kernels) {
  info_.memory_bytes = HostMemoryBytes();
}

Result<Buffer> HostDevice::Allocate(size_t size_bytes) {
  void* data = nullptr;
  // The system overcommits: a buffer larger than the machine's memory would fail only when used.
  if (info_.memory_bytes == 0 || size_bytes <= info_.memory_bytes) {
    const size_t blocks =
        std::max<size_t>(1, size_bytes / kAlignment + (size_bytes % kAlignment != 0));
    data = std::aligned_alloc(kAlignment, blocks * kAlignment);
  }
  if (data == nullptr) {
    return Status::Resource(
        fmt::format("out of memory: a buffer of {} bytes does not fit on {}, which has {} bytes",
                    size_bytes, info_.name, info_.memory_bytes));
  }
  return Buffer(data, size_bytes, [](void* memory) { std::free(memory); });
}

Status HostDevice::CopyInAfter(Moment, const Buffer& to, size_t offset, BytesView from) {
  MOTLEY_RETURN_IF_ERROR(CheckRange(to, offset, from.size()));
  if (!from.empty())
    std::memcpy(static_cast<std::byte*>(to.data()) + offset, from.data(), from.size());
  return Status::Ok();
}

Status HostDevice::CopyOutAfter(Moment, const Buffer& from, size_t offset, size_t size_bytes,
                                const TakePiece& take) {
  MOTLEY_RETURN_IF_ERROR(CheckRange(from, offset, size_bytes));
  if (size_bytes > 0) take(0, {static_cast<std::byte*>(from.data()) + offset, size_bytes});
  return Status::Ok();
}

}  // namespace motley
