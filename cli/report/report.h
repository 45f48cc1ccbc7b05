// SPDX-License-Identifier: Apache-2.0
// Formats the result of a job as tables for users.
#pragma once

#include <string>
#include <vector>

#include "api/reports/job_report.h"

namespace motley {

// "approximate: 87 of 400 steps, error 0.031 mean 0.125 max\n"
std::string ApproximateLine(uint64_t approximate, uint64_t steps, double mean, double max);
// Speeds that are NaN are not shown.
std::string WorkerTable(const std::vector<WorkerLine>& lines);
// Reads only the text of motley_job_report, so that it knows no more than other programs.
std::string TrainTable(const std::string& report);
// True if the model is the version with the best validation score.
bool KeptBest(const std::string& report);
// The failure that audits found; empty: none.
std::string AuditFailure(const std::string& report);
// Why the last checkpoint could not be written; empty: it was written, or there is none.
std::string CheckpointError(const std::string& report);
// Why the newest checkpoint is degraded; empty: it is not.
std::string CheckpointWeakness(const std::string& report);
// The report of a failed job ("{}" if there is none) with a first member `error`: the word of
// motley_job_failure, the program's exit code and the message.
std::string FailureJson(const std::string& report, const std::string& kind, int exit_code,
                        const std::string& why);
// The path of the recorded steps that belong to a profile.
std::string RecordedStepsFile(const std::string& profile);
// Why the run is not recorded; empty: it is, or nobody asked for it.
std::string RecordingError(const std::string& report);

}  // namespace motley
