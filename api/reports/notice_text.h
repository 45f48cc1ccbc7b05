// SPDX-License-Identifier: Apache-2.0
// The sentences of notices, for users: here typed notices get words, and workers their names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "runtime/job.h"

namespace motley {

// The name of a worker; empty where the number says as much. Asked for any number.
using NameOfWorker = std::function<std::string(WorkerId)>;

// "worker 1 (old-pc) lost: connection reset; 2 workers go on". Options of the job are in
// backquotes, under their names in motley/job.h. `loss_unit`: see PreparedData::loss_unit.
std::string NoticeText(const JobNotice& notice, const NameOfWorker& name_of, double loss_unit = 1);
// The same notice as the report's `reduce` (docs/reference/results.md), if it says who sums the
// vector; else empty. `text` is the notice in words.
std::string ReductionJson(const JobNotice& notice, const std::string& text,
                          const NameOfWorker& name_of);

// Why a code was chosen: "predicted 41 ms a step, 23 % less than without copies; insures against
// worker 3, slow in 4 % of its steps".
std::string ReasonText(const ChoiceReason& why);

// Why the newest safe checkpoint is degraded.
std::string DegradedText(const notice::CheckpointDegraded& degraded);

// "worker 2", "workers 0, 2 (alice)"; of more than 32 the ranges without names: "40 workers (0 to
// 30, 35, 38 and 7 more)".
std::string WorkersText(const std::vector<WorkerId>& workers, const NameOfWorker& name_of);

}  // namespace motley
