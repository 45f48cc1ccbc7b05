// SPDX-License-Identifier: Apache-2.0
// An unnamed file for data that do not fit into memory. It is deleted with this object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

class SpillFile {
 public:
  // Creates the file in the folder for temporary files (TMPDIR). Errors name the folder and the
  // remedy.
  static Result<std::shared_ptr<SpillFile>> Create();
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Writes at the end and returns the offset. One thread. kResource: the disk is full.
  Result<uint64_t> Append(BytesView bytes);
  // Reads `to.size()` bytes at `offset`. Any thread. kResource: the disk fails.
  Status ReadAt(uint64_t offset, std::span<std::byte> to) const;
  uint64_t size_bytes() const { return size_; }

 private:
  SpillFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}

  int fd_;
  std::string folder_;
  uint64_t size_ = 0;
};

}  // namespace motley
