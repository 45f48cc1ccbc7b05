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

  // At most `most` versions of `length` floats exist at a time.
  VersionPool(size_t length, uint64_t most) : length_(length), most_(most) {}

  // Adds the first version.
  void Begin(Version first) { versions_ = {std::move(first)}; }
  // Takes the memory of the second version now: no job is better than one that ends at its first
  // update.
  void Reserve() { versions_.push_back(std::make_shared<std::vector<float>>(length_)); }

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
