// SPDX-License-Identifier: Apache-2.0
// Worker names as users read them.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace motley {

// True if `name` says more than an index: a user gave it, or it names the device. Names that this
// program generates for processors do not ("worker", "worker-2").
bool WorthSaying(std::string_view name);

// The name in a job of worker number `worker`, which calls itself `name`. Processes that join from
// elsewhere without a name are all called "worker". Their number is added, and a worker without any
// name gets one as well.
std::string NumberedName(std::string_view name, WorkerId worker);

// The name in a job of shard server number `server`, which calls itself `name`: "shard server 1
// (alice)".
std::string ShardServerName(uint32_t server, std::string_view name);
// True for names that ShardServerName makes. No "worker 5" comes before them.
bool NamesShardServer(std::string_view name);
// "worker 3", or for a node behind the last worker "shard server 1".
std::string DescribeNode(WorkerId node, uint32_t workers);

// "worker 3 (alice)"; "worker 3" if the name says no more; the name of a shard server.
std::string DescribeWorker(WorkerId worker, std::string_view name);

}  // namespace motley
