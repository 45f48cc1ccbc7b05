// SPDX-License-Identifier: Apache-2.0
// Sends parameters to workers, slice by slice from the one copy that all sends share. Loop thread
// only.
//
// Back-pressure: per worker at most one version is queued; slices of an older one that have not
// left are taken back. A copy lives until its last send is done, so at most workers + 2 exist.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "transport/transport.h"

namespace motley {

using ParameterCopy = std::shared_ptr<const std::vector<float>>;

class Publisher {
 public:
  Publisher(Transport& transport, uint32_t workers, uint32_t slice_length);

  // Sends `version`, unless this worker got it already: false. `header`: job and incarnation.
  bool Publish(WorkerId worker, PeerId peer, Header header, uint64_t version, ParameterCopy copy);
  void Forget(WorkerId worker);

 private:
  using Sends = std::vector<SendId>;  // Of one version, by slice; 0: done.
  struct Seat {
    bool any = false;
    uint64_t version = 0;          // The newest that was sent.
    std::shared_ptr<Sends> sends;  // Null: none yet.
  };

  Transport& transport_;
  uint32_t slice_length_;
  std::vector<Seat> seats_;
};

}  // namespace motley
