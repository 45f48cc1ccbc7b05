// SPDX-License-Identifier: Apache-2.0
// What a job came to, as tables for people.
#pragma once

#include <string>
#include <vector>

#include "api/reports/job_report.h"

namespace motley {

// "approximate: 87 of 400 steps, error 0.031 mean 0.125 max\n"
std::string ApproximateLine(uint64_t approximate, uint64_t steps, double mean, double max);
std::string WorkerTable(const std::vector<WorkerLine>& lines);
// Drawn from the text of motley_job_report, so that it knows no more than programs do.
std::string TrainTable(const std::string& report);
// Whether the model is the version that did best on validation samples.
bool KeptBest(const std::string& report);
// What audits found; empty: nothing was wrong.
std::string AuditFailure(const std::string& report);
// Why the last checkpoint that was tried could not be written; empty: it was, or there is none.
std::string CheckpointError(const std::string& report);
// Why the newest is degraded; empty: it is not.
std::string CheckpointWeakness(const std::string& report);
// The report of a job that failed ("{}" when there is none), and before it its `error`: the message
// and the program's exit code.
std::string FailureJson(const std::string& report, int exit_code, const std::string& why);
// Where the steps of a run are recorded whose profile is this file.
std::string RecordedStepsFile(const std::string& profile);
// Why the run is not recorded; empty: it is, or was not meant to be.
std::string RecordingError(const std::string& report);

}  // namespace motley
