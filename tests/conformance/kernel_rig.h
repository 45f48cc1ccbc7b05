// SPDX-License-Identifier: Apache-2.0
// Kernels under test on the host's memory.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "devices/check/kernel_rig.h"

namespace motley::conformance {

using namespace check;  // NOLINT(build/namespaces)

// Each operand has an allocation of its own, so that address sanitizer sees reads past its end. It
// starts `offset` bytes after a multiple of 64: a multiple of 4, or of 8 for doubles. The default
// is not aligned for any vector register.
class HostRig final : public KernelRig {
 public:
  HostRig(const motley_kernels& table, void* queue, size_t offset = 8)
      : table_(table), queue_(queue), offset_(offset) {}
  const motley_kernels& table() const override { return table_; }
  void* queue() const override { return queue_; }
  void* Store(const void* bytes, size_t size_bytes) override {
    void* block = nullptr;
    MOTLEY_ASSERT(posix_memalign(&block, 64, offset_ + size_bytes) == 0);
    memory_.emplace_back(block, &std::free);
    std::byte* data = static_cast<std::byte*>(block) + offset_;
    if (size_bytes > 0) std::memcpy(data, bytes, size_bytes);
    return data;
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    if (size_bytes > 0) std::memcpy(bytes, stored, size_bytes);
  }

 private:
  const motley_kernels& table_;
  void* const queue_;
  const size_t offset_;
  std::vector<std::unique_ptr<void, void (*)(void*)>> memory_;
};

}  // namespace motley::conformance
