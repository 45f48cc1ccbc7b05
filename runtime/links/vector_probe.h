// SPDX-License-Identifier: Apache-2.0
// Finds out what a vector takes from each worker while nothing else comes. Steps show the vectors
// of all workers at once, which do not say whether the workers' links are narrow or the server's
// (scheduler/learned/vector_watch.h). But while parameters go out nobody answers yet: workers that
// were just given work are asked, one after the other, for the beginning of a vector, as kProbe
// frames. Any answer that arrives meanwhile voids a measurement. Loop thread only.
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
  // A whole vector takes so long, as far as its beginning shows.
  using Tell = std::function<void(WorkerId, Duration vector)>;

  // Borrowed. `cut`: of a vector.
  VectorProbe(Loop& loop, Transport& transport, uint32_t workers, const Slicing& cut, Tell tell);

  // The worker was given work. `header` says whose life it is in. Each is measured a few times, and
  // who is silent when it is asked keeps the others from being measured.
  void Ask(WorkerId worker, PeerId peer, const Header& header);
  // Where a kProbe frame of this life of the worker goes. kDataError: it was not asked for.
  Result<std::span<std::byte>> Begin(WorkerId worker, const Header& header);
  void Finish(WorkerId worker);  // It is there.
  void Disturb();                // Something of an answer is arriving, or has.
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
  const uint32_t slices_;  // That are asked for.
  const Tell tell_;
  std::vector<Seat> seats_;
  uint32_t waiting_ = 0;  // Seats.
  // Under way.
  std::optional<WorkerId> now_;
  uint32_t came_ = 0;   // Slices of it.
  Time since_{};        // The beginning of the first was here.
  bool alone_ = false;  // Since then.
  Bytes sink_;
};

}  // namespace motley
