// SPDX-License-Identifier: Apache-2.0
// A Disk on virtual time. Work runs in one piece once its modelled time has passed.
#pragma once

#include <memory>

#include "base/loop/loop.h"
#include "checkpoint/store/disk.h"

namespace motley {

struct SimDiskSpeed {
  Duration per_piece = std::chrono::milliseconds(20);  // Covers seeks and syncs.
};

// `loop` and `store` must outlive the disk. Work runs just before its `done`, so a process that
// dies earlier has written nothing of it.
std::unique_ptr<Disk> MakeSimDisk(Loop& loop, Store& store, const SimDiskSpeed& speed = {});

}  // namespace motley
