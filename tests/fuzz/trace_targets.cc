// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/assert.h"
#include "reproduce/worker_trace.h"
#include "runtime/run_trace.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/target.h"

namespace motley::fuzz {

// Every part of a step must have a time that can be replayed.
void RunTraceFile(std::string_view input) {
  const auto trace = ReadRunTrace(Scratch::Write("a.trace.csv", input));
  if (!trace.ok()) {
    MOTLEY_ASSERT(!trace.status().message().empty());
    return;
  }
  MOTLEY_ASSERT(trace->steps > 0 && trace->workers > 0);
  MOTLEY_ASSERT(trace->cells.size() == trace->steps * trace->workers);
  for (const RunTrace::Cell& cell : trace->cells) {
    MOTLEY_ASSERT(cell.seconds_per_sample >= 0 && std::isfinite(cell.seconds_per_sample));
    MOTLEY_ASSERT(cell.bytes_per_second >= 0 && std::isfinite(cell.bytes_per_second));
  }
}

// More load must never take less time.
void WorkerTraceFile(std::string_view input) {
  const auto trace = ReadWorkerTrace(Scratch::Write("a.rounds.csv", input));
  if (!trace.ok()) {
    MOTLEY_ASSERT(!trace.status().message().empty());
    return;
  }
  for (uint32_t round = 0; round < trace->rounds; round += 1 + trace->rounds / 5) {
    for (uint32_t worker = 0; worker < trace->workers; worker += 1 + trace->workers / 5) {
      double before = 0;
      for (const double load : {0.0, 0.1, 0.3, 1.0, 3.0}) {
        const double seconds = trace->At(load, round, worker);
        MOTLEY_ASSERT(seconds >= before);
        before = seconds;
      }
    }
  }
}

}  // namespace motley::fuzz
