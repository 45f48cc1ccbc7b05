// SPDX-License-Identifier: Apache-2.0
// States to save, and looks at what a store holds, for the tests of checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/bytes.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/store/store.h"
#include "sim/world/sim_store.h"

namespace motley {

// Content drawn from (step, variant): two variants of a step differ.
CheckpointState MakeState(uint64_t step, size_t parameters, uint64_t variant = 0);

testing::AssertionResult Same(const CheckpointState& got, const CheckpointState& wanted);

// The whole of every file, by path.
std::map<std::string, Bytes> AllFiles(SimStore& store);
Bytes Contents(Store& store, const std::string& path);
// Replaces or creates a file, bypassing every rule.
void Put(Store& store, const std::string& path, BytesView bytes);
// A shard file whose block of `stripe` has one bit flipped and whose checksums are all right.
Bytes WithOtherBlock(BytesView shard, uint64_t stripe);

}  // namespace motley
