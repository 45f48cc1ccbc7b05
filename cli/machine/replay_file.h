// SPDX-License-Identifier: Apache-2.0
// `motley simulate --replay FILE`: recorded times in one of two formats, told by their columns.
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
  std::vector<std::string> assumed;  // Sentences for people.
  // Of rounds with loads (reproduce/worker_trace.h), which need no cluster's file: the workers,
  // all taken to be alike beforehand, and what all rounds take where each waits for everybody to
  // do an equal share. None and 0 of runs' steps.
  std::optional<ClusterProfile> cluster;
  double wait_for_all_seconds = 0;
};

// A step has `batch` samples. kNotFound and so on as of data/files/byte_stream.h; kDataError with
// the line.
Result<ReplayFile> OpenReplayFile(const std::string& path, uint32_t batch);

}  // namespace motley
