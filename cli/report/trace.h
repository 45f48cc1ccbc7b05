// SPDX-License-Identifier: Apache-2.0
// Records a job as Chrome trace events (open them in ui.perfetto.dev). Each worker has a track with
// one event per assigned row. The event begins with the row's assignment or with the arrival of the
// row before it, and ends with the row's arrival. The server has a track, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "motley/motley.h"

namespace motley {

// An interval of time in a step.
struct TraceSpan {
  enum class Kind {
    kAnswered,   // A row was answered: from assignment to arrival.
    kLate,       // The worker got other work before it answered.
    kCancelled,  // The row was not needed. Not drawn unless it was begun.
    kLost,       // The worker was lost.
    kOpen,       // No answer arrived before the end of the job.
    kCollect,    // From opening to decoding of the step.
    kUpdate,     // From decoding to the update.
    kReceives,   // Parameters of the step travel to a worker; only simulations report this.
    kSends,      // A vector travels to the server; only simulations report this.
  };
  Kind kind = Kind::kAnswered;
  uint32_t track = 0;  // 0 is the server, w + 1 is worker w.
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t step = 0;
  uint32_t row = 0;
  double error = 0;  // For kCollect: the error of the sum (motley_event).
};
// "step 5 row 1 (late)"
std::string NameOf(const TraceSpan& span);

class TraceRecorder {
 public:
  void OnEvent(const motley_event& event);
  // Records that a slice of kReceives or kSends arrived. `first`: it is the first slice of its
  // vector.
  void OnTransfer(const TraceSpan& slice, bool first);

  // Sorted by their beginning. Rows that are still open end at the last known time.
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
  // Ends the row at position `place` of a worker and all rows before it; the next row begins.
  void Close(uint32_t worker, size_t place, TraceSpan::Kind kind, uint64_t now_ns);
  void Cancel(const motley_event& event);
  // Ends all rows of a worker. Only the first was begun.
  void CloseAll(uint32_t worker, TraceSpan::Kind kind, uint64_t now_ns);
  std::optional<size_t> PlaceOf(const motley_event& event) const;
  void AddServerSpan(TraceSpan::Kind kind, const motley_event& event, uint64_t begin_ns);

  std::vector<TraceSpan> spans_;
  std::map<std::pair<uint32_t, TraceSpan::Kind>, TraceSpan> transfers_;  // The last one per track.
  std::map<uint32_t, std::string> names_;
  std::map<uint32_t, std::vector<OpenRow>> open_;  // Per worker, in order of work.
  std::optional<uint32_t> assigning_;              // The worker that got a row in the last event.
  uint64_t opened_ns_ = 0;
  uint64_t decoded_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace motley
