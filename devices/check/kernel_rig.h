// SPDX-License-Identifier: Apache-2.0
// Operands for checked kernels: a driver's table, its queue and its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "devices/kernels.h"

namespace motley::check {

class KernelRig {
 public:
  virtual ~KernelRig() = default;
  virtual const motley_kernels& table() const = 0;
  virtual void* queue() const = 0;
  // Makes a copy in the device's memory, which is freed with the rig.
  virtual void* Store(const void* bytes, size_t size_bytes) = 0;
  virtual void Load(const void* stored, void* bytes, size_t size_bytes) const = 0;
};

// An operand. The constructor copies host values in, it converts to a device pointer, and Read
// copies values out.
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

// A sparse matrix on the host.
struct HostCsr {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<uint64_t> row_begin;
  std::vector<uint32_t> column;
  std::vector<float> value;
};

// Each entry exists with probability `density`, and one row in seven is empty. The first entry is
// at `row_begin[0] == skipped`, as in a range of rows of a larger matrix.
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

}  // namespace motley::check
