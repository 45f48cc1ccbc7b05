// SPDX-License-Identifier: Apache-2.0
// Finds out how long a vector takes from each worker when nothing else arrives. Steps only show the
// vectors of all workers at once, which cannot separate narrow worker links from a narrow server
// link (scheduler/learned/vector_watch.h). While parameters go out, however, nobody answers yet. So
// the server asks workers that just received work, one at a time, for the beginning of a vector, as
// kProbe frames. Any answer that arrives meanwhile voids a measurement. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/links/slicing.h"
#include "transport/transport.h"

namespace motley {

class VectorProbe {
 public:
  // The time for a whole vector, extrapolated from its beginning.
  using Tell = std::function<void(WorkerId, Duration vector)>;

  // All are borrowed. `cut` is that of a vector.
  VectorProbe(Loop& loop, Transport& transport, uint32_t workers, const Slicing& cut, Tell tell);

  // The worker was given work. `header` names its incarnation. Each worker is measured a few times.
  // A worker that stays silent when it is asked keeps the others from being measured.
  void Ask(WorkerId worker, PeerId peer, const Header& header);
  // The room for a kProbe frame of this incarnation. kDataError: it was not asked for.
  Result<std::span<std::byte>> Begin(WorkerId worker, const Header& header);
  void Finish(WorkerId worker);  // The frame arrived.
  void Disturb();                // Part of an answer arrived.
  void Forget(WorkerId worker);

 private:
  struct Seat {
    PeerId peer = 0;
    Header header;
    bool waits = false;
    uint32_t tries = 0, told = 0;
  };
  void Next();

  Loop& loop_;
  Transport& transport_;
  const Slicing cut_;
  const uint32_t slices_;  // Slices to ask for.
  const Tell tell_;
  std::vector<Seat> seats_;
  uint32_t waiting_ = 0;  // Seats that wait.
  // The measurement under way.
  std::optional<WorkerId> now_;
  uint32_t came_ = 0;   // Slices that arrived.
  Time since_{};        // When the beginning of the first slice arrived.
  bool alone_ = false;  // No answer has arrived since then.
  Bytes sink_;
};

}  // namespace motley
