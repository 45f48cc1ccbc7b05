// SPDX-License-Identifier: Apache-2.0
// Names of workers in what people read: the scheduler, which writes most of it, knows indices only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace motley {

// A worker's name; nothing where it is not to be said. Asked for any number.
using NameOfWorker = std::function<std::string(WorkerId)>;

// Whether `name` says more than an index: people gave it, or it tells the device. Those that this
// program makes up for processors do not ("worker", "worker-2").
bool WorthSaying(std::string_view name);

// The name at a job of the worker that gives `name` and is number `worker` there. Processes that
// join from elsewhere without a name are all called "worker": they get their number, as do those
// that have no name at all.
std::string NumberedName(std::string_view name, WorkerId worker);

// `text` with the names behind the numbers: "worker 3 lost" is "worker 3 (alice) lost", and
// "workers 0, 3" is "workers 0, 3 (alice)". A number that parentheses follow has been explained.
std::string WithWorkerNames(std::string_view text, const NameOfWorker& name_of);

}  // namespace motley
