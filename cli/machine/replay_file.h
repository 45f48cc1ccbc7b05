// SPDX-License-Identifier: Apache-2.0
// Reads recorded times for `motley simulate --replay FILE`. There are two formats, which differ in
// their columns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "profiles/profile.h"
#include "sim/faults/recorded_times.h"

namespace motley {

struct ReplayFile {
  std::string path;
  std::shared_ptr<const RecordedTimes> times;
  std::vector<std::string> assumed;  // Assumptions, as sentences for users.
  // Set only for rounds with loads (reproduce/worker_trace.h), which need no cluster file.
  // `cluster` has their workers, assumed to be equal in advance. `wait_for_all_seconds` is the time
  // of all rounds if each waits until every worker has done an equal share.
  std::optional<ClusterProfile> cluster;
  double wait_for_all_seconds = 0;
};

// A step has `batch` samples. Errors are those of data/files/byte_stream.h; kDataError names the
// line.
Result<ReplayFile> OpenReplayFile(const std::string& path, uint32_t batch);

}  // namespace motley
