// SPDX-License-Identifier: Apache-2.0
// Every byte of a checkpoint's shards, checked. Blocking; see checkpoint.h for threads.
#pragma once

#include "base/status.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shard_set.h"

namespace motley {

// kDataError when the checkpoint cannot be read by this program at all, or is none.
Result<VerifyReport> VerifySet(Store& store, const ShardSet& set);

// kDataError: all checksums hold, but not the id over everything.
Status NotTogether();

// kNotDecodable: the report as an error's text.
Status TooMuchLost(const VerifyReport& report);

}  // namespace motley
