// SPDX-License-Identifier: Apache-2.0
// Vectors that a trainer reads and writes: parameters and sums. Their memory is the library's, or
// the caller's own: pinned for a device, say.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace motley {

// The caller's own memory. Any thread calls these, and several may do so at a time.
struct VectorMemory {
  static constexpr size_t kAlignment = 64;

  // Returns this many bytes, a multiple of kAlignment, at such an address. Not null.
  std::function<Result<void*>(size_t bytes)> allocate;
  std::function<void(void* memory, size_t bytes)> release;
};
using OwnMemory = std::shared_ptr<const VectorMemory>;  // Null: there is none.

class HostVector {
 public:
  // A vector of zeros. kResource: the library has no memory for `what`. Other errors are those of
  // `memory`.
  static Result<std::shared_ptr<HostVector>> Make(std::string_view what, size_t size,
                                                  OwnMemory memory = nullptr);
  ~HostVector();
  HostVector(const HostVector&) = delete;
  HostVector& operator=(const HostVector&) = delete;

  size_t size() const { return size_; }
  float* data() { return data_; }
  const float* data() const { return data_; }
  float* begin() { return data_; }
  const float* begin() const { return data_; }
  float* end() { return data_ + size_; }
  const float* end() const { return data_ + size_; }

 private:
  HostVector(size_t size, OwnMemory memory);
  Status Allocate();

  const size_t size_;
  const size_t bytes_;
  const OwnMemory memory_;
  float* data_ = nullptr;
};
using SharedVector = std::shared_ptr<HostVector>;

}  // namespace motley
