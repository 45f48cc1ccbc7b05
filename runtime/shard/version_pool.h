// SPDX-License-Identifier: Apache-2.0
// The memory of a vector's versions. A version stays as long as somebody reads it (a send, an
// audit, a caller), and its memory then serves another one. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"

namespace motley {

class VersionPool {
 public:
  using Version = std::shared_ptr<std::vector<float>>;

  // At most `most` versions exist at a time, all as long as `first`. The pool takes the memory of
  // the second one now: no job is better than one that ends at its first update.
  VersionPool(const Version& first, uint64_t most);

  // `crowded` runs when another version needs room and no more memory may be taken. It makes a
  // reader release an older version, or returns false.
  void SetCrowded(std::function<bool()> crowded) { crowded_ = std::move(crowded); }

  // Memory for another version, with any content. kResource if there is none.
  Result<Version> Spare();

 private:
  Version Unused() const;
  void FreeSurplus();

  std::vector<Version> versions_;
  const size_t length_;
  const uint64_t most_;
  uint32_t surplus_for_ = 0;  // Calls of Spare in a row that found more than one version unused.
  std::function<bool()> crowded_;
};

}  // namespace motley
