// SPDX-License-Identifier: Apache-2.0
// The time of each worker in each step of a run. Runs are recorded in this format, and the
// simulator replays it. CSV, also gzipped:
//
//   step,worker,samples,compute_seconds,vector_bytes,vector_seconds
//   0,0,64,0.012345678,2097152,0.016
//   0,1,192,0.0101,,
//
// A line is one worker's part of one step. Lines are in any order, each pair at most once. A worker
// that computed nothing in a step has no line. compute_seconds is the time of its device for all of
// the samples. vector_bytes of its vector (behind the first slice, with frame headers) arrived
// within vector_seconds. Both are empty if that was not seen. Lines that begin with # are ignored.
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
std::string FormatRunTraceLine(const RunTraceLine& line);  // Includes the line's end.
// kDataError says what is wrong. The caller adds the place.
Result<RunTraceLine> ParseRunTraceLine(std::string_view text);

// A whole recording.
struct RunTrace {
  struct Cell {
    double seconds_per_sample = 0;  // 0: the worker computed nothing.
    double bytes_per_second = 0;    // The rate of its vector; 0: not seen.
  };
  StepId first_step = 0;
  uint64_t steps = 0;  // From the first to the last, including steps without a line.
  uint32_t workers = 0;
  std::vector<Cell> cells;  // steps x workers.

  // `step` counts from the recording's first one.
  const Cell& At(uint64_t step, WorkerId worker) const { return cells[step * workers + worker]; }
};
// kNotFound, kPermission and so on as in data/files/byte_stream.h; kDataError names the line.
Result<RunTrace> ReadRunTrace(const std::string& path);

}  // namespace motley
