// SPDX-License-Identifier: Apache-2.0
// What a folder holds already when a checkpoint is to be written into it: a reason to refuse, or
// remains that go aside. Blocking; see checkpoint.h for threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/shard_set.h"

namespace motley {

struct Way {
  bool there = false;  // What can be restored is this very checkpoint (id and step).
  // Folders that nothing may be written into, and why: what lies in them is not known, or could not
  // be moved. At most m of those that the checkpoint's shards go to; others are in it too.
  std::map<uint32_t, Status> closed;
};

// Changes nothing unless everything that is in the way of `header` turned out not to be restorable,
// which reads it all, and this job's twice if reading fails; then renames it to "...shard.orphan-1"
// (or -2, ...), and `notes` gets a line for each step. kConflict names what else can be restored,
// or what a newer program wrote; kResource or kPermission: of another's it cannot be told, since
// reading failed, or more folders than can be spared are closed.
Result<Way> MakeWay(Store& store, const ShardScan& scan, const ShardHeader& header,
                    std::vector<std::string>& notes);

}  // namespace motley
