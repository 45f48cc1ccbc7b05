// SPDX-License-Identifier: Apache-2.0
// Builds states to save and inspects a store, for the tests of checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/bytes.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/store/store.h"
#include "sim/world/sim_store.h"

namespace motley {

// Random content of (step, variant): two variants of a step differ.
CheckpointState MakeState(uint64_t step, size_t parameters, uint64_t variant = 0);

testing::AssertionResult Same(const CheckpointState& got, const CheckpointState& wanted);

// The content of every file, by path.
std::map<std::string, Bytes> AllFiles(SimStore& store);
Bytes Contents(Store& store, const std::string& path);
// Replaces or creates a file without any checks.
void Put(Store& store, const std::string& path, BytesView bytes);
// A shard file with one bit flipped in the block of `stripe`, and with all checksums right.
Bytes WithOtherBlock(BytesView shard, uint64_t stripe);

}  // namespace motley
