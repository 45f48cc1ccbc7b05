// SPDX-License-Identifier: Apache-2.0
// Checks every byte of a checkpoint's shards. Blocking; see checkpoint.h for threads.
#pragma once

#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_set.h"

namespace motley {

// kDataError: this program cannot read the checkpoint at all, or it is not one.
Result<VerifyReport> VerifySet(Store& store, const ShardSet& set);

// kDataError: all checksums match, but the id of the whole does not.
Status NotTogether();

// True if all of the checkpoint can be restored; reads every byte. An error if reading failed and
// the answer is unknown.
Result<bool> CanBeRestored(Store& store, const ShardSet& set);

// True if the disk failed, rather than its content being damaged.
bool IsReadError(const Status& status);

// The report as an error: kNotDecodable, or the code of the read error that may be the reason.
Status TooMuchLost(const VerifyReport& report);

}  // namespace motley
