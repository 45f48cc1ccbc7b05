// SPDX-License-Identifier: Apache-2.0
// What it means for the steps of a planned job where its vector is summed and published. Pure.
//
// The step model knows one link that all vectors share, and each worker's own links. So the busiest
// owner of a range stands for all owners: with the shares x, vectors of M bytes and n workers, one
// vector occupies it for max x M / down, and the parameters for one worker for max x M / up (a
// worker that owns a range has (n - 1) / n of that, because its own vector is there already). A
// worker's own link carries what others own: (1 - x) M each way. If slices stream, publishing is
// hidden behind the answers, except for what both together take longer than the answers alone.
//
// Each range has followers, to which its owner sends the sums, unless followers read the new values
// (docs/decisions/0052-followers-read.md). Owners are not stragglers here, and none is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/wire_format.h"
#include "planner/planned_cluster.h"

namespace motley {

// A vector of so many bytes as float32. `sharded:S` means S servers on machines of their own, each
// with a link like the server's.
ReduceRequest ReductionOf(const ClusterProfile& profile, double vector_bytes,
                          const ReduceMode& mode, const PlannedJob& job = {});

// The links of the servers that may sum the vector, together: those of the S servers, or the
// server's.
ServerRates RatesOfServers(const ClusterProfile& profile, const ReduceMode& mode);

// The placement for a job in which these workers take part. Precondition: cluster.reduction.
Result<ReduceChoice> ReductionAmong(const PlannedCluster& cluster, const std::vector<bool>& among);

// The seconds of an exchange among these workers. Precondition of both: cluster.reduction or
// cluster.owned.
Result<double> ExchangeAmong(const PlannedCluster& cluster, const std::vector<bool>& among);

// The cluster with the times of that exchange. Answers are cut into `parts`.
Result<PlannedCluster> WithReduction(const PlannedCluster& cluster, const std::vector<bool>& among,
                                     uint32_t parts);

}  // namespace motley
