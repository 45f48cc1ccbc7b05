// SPDX-License-Identifier: Apache-2.0
// XXH3-64 over bytes that come in parts; the value does not depend on the cuts. Pure; one thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"

struct XXH3_state_s;

namespace motley {

class Checksum {
 public:
  // The checksum of bytes in one piece.
  static uint64_t Of(BytesView bytes);

  Checksum();
  void Reset();
  void Add(BytesView bytes);
  uint64_t Value() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace motley
