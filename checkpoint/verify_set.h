// SPDX-License-Identifier: Apache-2.0
// Every byte of a checkpoint's shards, checked. Blocking; see checkpoint.h for threads.
#pragma once

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_set.h"

namespace motley {

// kDataError when the checkpoint cannot be read by this program at all, or is none.
Result<VerifyReport> VerifySet(Store& store, const ShardSet& set);

// kDataError: all checksums hold, but not the id over everything.
Status NotTogether();

// Whether all of it can be had back, every byte read for the answer. An error when it cannot be
// told because reading failed.
Result<bool> CanBeRestored(Store& store, const ShardSet& set);

// Whether the disk, rather than what is on it, stands in the way.
bool IsReadError(const Status& status);

// kNotDecodable, or the code of the read error that may be the reason: the report as an error's
// text.
Status TooMuchLost(const VerifyReport& report);

}  // namespace motley
