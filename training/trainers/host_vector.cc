// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/host_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/aligned_memory.h"

namespace motley {
namespace {

constexpr size_t WholeBlocks(size_t bytes) {
  constexpr size_t kBlock = VectorMemory::kAlignment;
  return (bytes + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

Result<SharedVector> HostVector::Make(std::string_view what, size_t size, OwnMemory memory) {
  try {
    SharedVector made(new HostVector(size, std::move(memory)));
    MOTLEY_RETURN_IF_ERROR(made->Allocate().WithContext(fmt::format("memory for {}", what)));
    return made;
  } catch (const std::bad_alloc&) {
    return Status::Resource(fmt::format(
        "there is no memory for {} ({} bytes): take a smaller model or batch, or free memory", what,
        size * sizeof(float)));
  }
}

HostVector::HostVector(size_t size, OwnMemory memory)
    : size_(size), bytes_(WholeBlocks(size * sizeof(float))), memory_(std::move(memory)) {}

Status HostVector::Allocate() {
  void* memory = nullptr;
  if (memory_ != nullptr) {
    MOTLEY_ASSIGN_OR_RETURN(memory, memory_->allocate(bytes_));
  } else {
    memory = ::operator new(bytes_, AlignmentOf(bytes_));
  }
  data_ = static_cast<float*>(memory);
  std::fill(begin(), end(), 0.0f);
  return Status::Ok();
}

HostVector::~HostVector() {
  if (data_ == nullptr) return;
  if (memory_ != nullptr) {
    memory_->release(data_, bytes_);
  } else {
    ::operator delete(data_, AlignmentOf(bytes_));
  }
}

}  // namespace motley
