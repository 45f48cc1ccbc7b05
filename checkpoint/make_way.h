// SPDX-License-Identifier: Apache-2.0
// Checks what a folder holds before a checkpoint is written into it: it is a reason to refuse, or
// remains that are moved aside. Blocking; see checkpoint.h for threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/shard_set.h"

namespace motley {

struct Way {
  bool there = false;  // This very checkpoint (id and step) exists and can be restored.
  // Folders that must not be written into, with the reasons: their content is unknown or could not
  // be moved. They include at most m folders of the checkpoint's own shards.
  std::map<uint32_t, Status> closed;
};

// Renames what is in the way of `header` to "...shard.orphan-1" (or -2, ...), after all of it
// proved not to be restorable. That reads all of it, and this job's files twice if reading fails.
// Otherwise nothing changes. `notes` gets a line for each step.
//
// kConflict names a checkpoint that can be restored, or that a newer program wrote. kResource or
// kPermission: another job's files cannot be read, or more folders than can be spared are closed.
Result<Way> MakeWay(Store& store, const ShardScan& scan, const ShardHeader& header,
                    std::vector<std::string>& notes);

}  // namespace motley
