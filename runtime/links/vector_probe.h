// SPDX-License-Identifier: Apache-2.0
// Finds out how long a vector takes from each worker when nothing else arrives. Steps only show the
// vectors of all workers at once, which cannot separate narrow worker links from a narrow server
// link (scheduler/learned/vector_watch.h). While parameters go out, however, nobody answers yet. So
// the server asks workers that just received work, one at a time, for the beginning of a vector, as
// kProbe frames. Any answer that arrives meanwhile voids a measurement. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
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
  VectorProbe(Loop& loop, Transport& transport, const Slicing& cut, Tell tell);

  // A worker's place among those that are measured. The probe must outlive it.
  class Turn {
   public:
    Turn(VectorProbe& probe, WorkerId worker, PeerId peer, const Header& header);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // The worker was given work. Each worker is measured a few times. A worker that stays silent
    // when it is asked keeps the others from being measured.
    void Ask();
    // The room for a kProbe frame of this incarnation. kDataError: it was not asked for.
    Result<std::span<std::byte>> Begin(const Header& header);
    void Finish();  // The frame arrived.

   private:
    friend class VectorProbe;
    VectorProbe& probe_;
    const WorkerId worker_;
    const PeerId peer_;
    const Header header_;
    bool waits_ = false;
    uint32_t tries_ = 0, told_ = 0;
  };

  void Disturb();  // Part of an answer arrived.

 private:
  void Next();

  Loop& loop_;
  Transport& transport_;
  const Slicing cut_;
  const uint32_t slices_;  // Slices to ask for.
  const Tell tell_;
  std::vector<Turn*> turns_;  // By worker.
  uint32_t waiting_ = 0;      // Turns that wait.
  // The measurement under way.
  Turn* now_ = nullptr;  // Null: none.
  uint32_t came_ = 0;    // Slices that arrived.
  Time since_{};         // When the beginning of the first slice arrived.
  bool alone_ = false;   // No answer has arrived since then.
  Bytes sink_;
};

}  // namespace motley
