// SPDX-License-Identifier: Apache-2.0
// A Disk on virtual time: work runs in one piece, and is done after the time that it would take.
#pragma once

#include <memory>

#include "base/loop/loop.h"
#include "checkpoint/store/disk.h"

namespace motley {

struct SimDiskSpeed {
  Duration per_piece = std::chrono::milliseconds(20);  // Seeks and syncs.
};

// `loop` and `store` outlive it. The work runs when its modelled time has passed, just before
// `done`: a process that dies meanwhile has written nothing of it.
std::unique_ptr<Disk> MakeSimDisk(Loop& loop, Store& store, const SimDiskSpeed& speed = {});

}  // namespace motley
