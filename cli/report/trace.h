// SPDX-License-Identifier: Apache-2.0
// Chrome trace events of a job (open in ui.perfetto.dev): one track per worker with an event per
// assigned row, from its assignment, or the arrival of the one before it, to its arrival, and one
// track for the server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "motley/motley.h"

namespace motley {

// Something that took time in a step.
struct TraceSpan {
  enum class Kind {
    kAnswered,   // A row, from assignment to arrival.
    kLate,       // Its worker got other work first.
    kCancelled,  // It was not needed; not drawn where it was not begun.
    kLost,       // Its worker was.
    kOpen,       // No answer came up to the end.
    kCollect,    // From the opening of the step until it was decoded.
    kUpdate,     // From then until the update was applied.
    kReceives,   // The step's parameters come to a worker;
    kSends,      // one of its vectors to the server. Both only where a simulation tells of them.
  };
  Kind kind = Kind::kAnswered;
  uint32_t track = 0;  // 0: the server; worker + 1.
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t step = 0;
  uint32_t row = 0;
  double error = 0;  // Of kCollect: what it left (motley_event).
};
// "step 5 row 1 (late)"
std::string NameOf(const TraceSpan& span);

class TraceRecorder {
 public:
  void OnEvent(const motley_event& event);
  // A slice of a vector, of kReceives or kSends, came; `first`: of its vector.
  void OnTransfer(const TraceSpan& slice, bool first);

  // Rows that are still open end at the last time seen. By beginning.
  std::vector<TraceSpan> Spans();
  const std::map<uint32_t, std::string>& worker_names() const { return names_; }
  // {"traceEvents": [...]}
  std::string Json();

 private:
  struct OpenRow {
    uint32_t row = 0;
    uint64_t step = 0;
    uint64_t begin_ns = 0;
  };

  void Assign(const motley_event& event);
  void Arrive(const motley_event& event);
  // The row at a worker's place ends, and those before it; the next one begins.
  void Close(uint32_t worker, size_t place, TraceSpan::Kind kind, uint64_t now_ns);
  void Cancel(const motley_event& event);
  // All that the worker has ends; only the first was begun.
  void CloseAll(uint32_t worker, TraceSpan::Kind kind, uint64_t now_ns);
  std::optional<size_t> PlaceOf(const motley_event& event) const;
  void AddServerSpan(TraceSpan::Kind kind, const motley_event& event, uint64_t begin_ns);

  std::vector<TraceSpan> spans_;
  std::map<std::pair<uint32_t, TraceSpan::Kind>, TraceSpan> transfers_;  // The last, by track.
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, std::vector<OpenRow>> open_;  // By worker, in the order of its work.
  std::optional<uint32_t> assigning_;              // The last event gave this worker a row.
  uint64_t opened_ns_ = 0;
  uint64_t decoded_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace motley
