// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <utility>

#include "devices/device.h"

namespace motley {

Buffer::Buffer(void* data, size_t size_bytes, std::function<void(void*)> free)
    : data_(data), size_bytes_(size_bytes), free_(std::move(free)) {}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      free_(std::exchange(other.free_, nullptr)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));
  std::swap(data_, taken.data_);
  std::swap(size_bytes_, taken.size_bytes_);
  std::swap(free_, taken.free_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr && free_) free_(data_);
}

Status Device::CopyOut(const Buffer& from, size_t offset, std::span<std::byte> to) {
  return CopyOutAfter(kNow, from, offset, to.size(), [to](size_t at, BytesView piece) {
    std::memcpy(to.data() + at, piece.data(), piece.size());
  });
}

}  // namespace motley
