// SPDX-License-Identifier: Apache-2.0
// Where the kernels under test find their operands: a driver's table, its queue and its memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "devices/kernels.h"

namespace motley::conformance {

class KernelRig {
 public:
  virtual ~KernelRig() = default;
  virtual const motley_kernels& table() const = 0;
  virtual void* queue() const = 0;
  // A copy in the device's memory, freed with the rig.
  virtual void* Store(const void* bytes, size_t size_bytes) = 0;
  virtual void Load(const void* stored, void* bytes, size_t size_bytes) const = 0;
};

// Kernels that work on host memory. Each operand has an allocation of its own, so that address
// sanitizer sees reads past its end, and starts `offset` bytes (a multiple of 4; of 8 where there
// are doubles) after a multiple of 64: by default off every vector register's alignment.
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

// An operand: host values in, device pointer to pass, host values out.
template <typename T>
class Operand {
 public:
  Operand(KernelRig& rig, const std::vector<T>& values)
      : rig_(rig),
        count_(values.size()),
        data_(static_cast<T*>(rig.Store(values.data(), values.size() * sizeof(T)))) {}
  operator T*() const { return data_; }  // NOLINT(runtime/explicit)
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    rig_.Load(data_, values.data(), count_ * sizeof(T));
    return values;
  }

 private:
  KernelRig& rig_;
  size_t count_;
  T* data_;
};

inline std::vector<float> RandomValues(Random& random, size_t count, double low = -1,
                                       double high = 1) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(low + (high - low) * random.NextDouble());
  return values;
}

// A sparse matrix on the host, and the same on the device.
struct HostCsr {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<uint64_t> row_begin;
  std::vector<uint32_t> column;
  std::vector<float> value;
};

// Each entry is there with probability `density`; the first is at `row_begin[0] == skipped`, as in
// a range of rows of a larger matrix. One row in seven is empty.
inline HostCsr RandomCsr(Random& random, size_t rows, size_t columns, double density,
                         size_t skipped = 0) {
  HostCsr csr{rows, columns, {skipped}, {}, {}};
  csr.column.assign(skipped, 0);
  csr.value.assign(skipped, 1e30f);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns && row % 7 != 3; ++column) {
      if (!random.Chance(density)) continue;
      csr.column.push_back(static_cast<uint32_t>(column));
      csr.value.push_back(static_cast<float>(2 * random.NextDouble() - 1));
    }
    csr.row_begin.push_back(csr.column.size());
  }
  return csr;
}

struct DeviceCsr {
  DeviceCsr(KernelRig& rig, const HostCsr& csr)
      : row_begin(rig, csr.row_begin),
        column(rig, csr.column),
        value(rig, csr.value),
        view{csr.rows, csr.columns, row_begin, column, value} {}
  Operand<uint64_t> row_begin;
  Operand<uint32_t> column;
  Operand<float> value;
  motley_csr view;
};

}  // namespace motley::conformance
