// SPDX-License-Identifier: Apache-2.0
// Names of workers, as users read them.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"

namespace motley {

// True if `name` says more than an index: a user gave it, or it names the device. The names that
// this program makes up for processors do not ("worker", "worker-2").
bool WorthSaying(std::string_view name);

// The name at a job of the worker that gives `name` and is number `worker` there. Processes that
// join from elsewhere without a name are all called "worker": they get their number, as do those
// that have no name at all.
std::string NumberedName(std::string_view name, WorkerId worker);

// "worker 3 (alice)"; "worker 3" where the name says no more.
std::string DescribeWorker(WorkerId worker, std::string_view name);

}  // namespace motley
