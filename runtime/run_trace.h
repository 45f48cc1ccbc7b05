// SPDX-License-Identifier: Apache-2.0
// What a run's steps took, worker by worker: the format in which runs are recorded, and replayed by
// the simulator. CSV, also gzipped:
//
//   step,worker,samples,compute_seconds,vector_bytes,vector_seconds
//   0,0,64,0.012345678,2097152,0.016
//   0,1,192,0.0101,,
//
// A line is one worker's part of one step, in any order, each pair at most once; who computed
// nothing in a step has none. compute_seconds are those of its device for all of the samples;
// vector_bytes of its vector (behind the first slice, with frames' headers) came within
// vector_seconds, both empty where that was not seen. Lines that begin with # are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace motley {

inline constexpr std::string_view kRunTraceColumns =
    "step,worker,samples,compute_seconds,vector_bytes,vector_seconds";

struct RunTraceLine {
  StepId step = 0;
  WorkerId worker = 0;
  uint64_t samples = 0;
  double compute_seconds = 0;
  uint64_t vector_bytes = 0;  // 0: not seen.
  double vector_seconds = 0;
};
std::string FormatRunTraceLine(const RunTraceLine& line);  // With its end.
// kDataError says what is wrong, to be completed with the place.
Result<RunTraceLine> ParseRunTraceLine(std::string_view text);

// A whole recording.
struct RunTrace {
  struct Cell {
    double seconds_per_sample = 0;  // 0: it computed nothing.
    double bytes_per_second = 0;    // Of its vector; 0: not seen.
  };
  StepId first_step = 0;
  uint64_t steps = 0;  // From the first to the last, those between them without a line, too.
  uint32_t workers = 0;
  std::vector<Cell> cells;  // steps x workers.

  // `step` counts from the recording's first one.
  const Cell& At(uint64_t step, WorkerId worker) const { return cells[step * workers + worker]; }
};
// kNotFound, kPermission and so on as of data/files/byte_stream.h; kDataError with the line.
Result<RunTrace> ReadRunTrace(const std::string& path);

}  // namespace motley
