// SPDX-License-Identifier: Apache-2.0
// A file without a name, for what memory has no room for. It goes with this object.
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
  // In the folder for temporary files (TMPDIR). Errors name the folder and what to do.
  static Result<std::shared_ptr<SpillFile>> Create();
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Writes at the end and says where that was. One thread. kResource: the disk is full.
  Result<uint64_t> Append(BytesView bytes);
  // Any thread. kResource: the disk fails.
  Status ReadAt(uint64_t offset, std::span<std::byte> to) const;
  uint64_t size_bytes() const { return size_; }

 private:
  SpillFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}

  int fd_;
  std::string folder_;
  uint64_t size_ = 0;
};

}  // namespace motley
