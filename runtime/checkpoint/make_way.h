// SPDX-License-Identifier: Apache-2.0
// What a folder holds already when a checkpoint is to be written into it: a reason to refuse, or
// remains that go aside. Blocking; see checkpoint.h for threads.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/checkpoint/shard_set.h"

namespace motley {

// Changes nothing unless everything that is in the way of `header` turned out not to be restorable,
// which reads it all; then renames it to "...shard.orphan-1" (or -2, ...), and `notes` (may be
// null) gets a line for each step. True: what can be restored is this very checkpoint (id and
// step). kConflict names what else can be restored, or what a newer program wrote; kResource or
// kPermission: it cannot be told, since reading failed.
Result<bool> MakeWay(Store& store, const ShardScan& scan, const ShardHeader& header,
                     std::vector<std::string>* notes);

}  // namespace motley
