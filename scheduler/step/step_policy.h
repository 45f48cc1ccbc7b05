// SPDX-License-Identifier: Apache-2.0
// How one step is worked off: who computes which partitions in which order, who sends its vector
// when, and when the step has enough. A policy decides and nothing else: no I/O, clock, threads or
// hidden randomness, so the cost-only step model (planner/step_model.h) runs the very code that
// serves a job.
//
// Every worker has a list of partitions and computes them in order into one running sum. What it
// sends, a vector, covers the entries computed since the last one; once sent, an entry is spent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace motley {

// What is known of a worker when a step begins. Seconds count from the beginning of the step.
struct StepWorker {
  double seconds_per_partition = 1;  // Predicted, > 0.
  double overhead_seconds = 0;       // Before its first partition.
  double latency_seconds = 0;        // One way, of a control message.
  double message_seconds = 0;        // For which one of its vectors occupies the server's link.
  bool live = true;
  double send_seconds = 0;    // For which one of its vectors occupies its own link, before.
  uint32_t report_every = 1;  // Partitions between two of its reports, > 0.
  // Of every piece of work that it cuts this into (scheduler/step/pieces.h): what it takes besides,
  double piece_overhead_seconds = 0;
  double piece_knee = 0;   // how many partitions take as long as fewer,
  double least_piece = 0;  // and the fewest in one. 0: leased partitions are pieces by themselves,
                           // and what is given out once is one.
  // Until it has the step's parameters, and for how long these occupy the server's link.
  double start_seconds = 0;
  double start_link_seconds = 0;
  // Until what was sent to it before is there, behind which all else comes.
  double data_seconds = 0;
};

// When it has the parameters, if those for everybody occupy the server's link for so long.
inline double ReadySeconds(const StepWorker& worker, double start_link_seconds) {
  const double link = start_link_seconds > 0 ? worker.latency_seconds + start_link_seconds : 0;
  return std::max(worker.start_seconds, link);
}

// Workers are numbered by their place in `workers`.
struct StepSetting {
  std::vector<StepWorker> workers;
  std::vector<std::vector<WorkerId>> holders;  // By partition; the primary first.
  double least_pace_seconds = 0;               // Decisions need not be closer together than this.
  // Where partitions stand for rows: how much work each is beside the mean. Else empty. Rows that
  // workers keep may be left when they were begun, after the piece of work that is on the device.
  std::vector<double> work;
};

// --- Events ---
// The first `done` entries of everything that it was given and kept are computed.
struct ListProgress {
  WorkerId worker;
  uint32_t done;
  double compute_seconds = 0;  // In which they were, by the worker's clock; 0: it does not say.
};
// The answer to RevokeList: these had not been started and are dropped; the others asked for stay.
struct ListReleased {
  WorkerId worker;
  std::vector<PartitionId> partitions;
};
// A vector came, over the next `entries` entries of the worker's list.
struct VectorArrived {
  WorkerId worker;
  uint32_t entries;
};
struct StepWorkerLost {
  WorkerId worker;
};
struct StepTick {};
using StepEvent = std::variant<ListProgress, ListReleased, VectorArrived, StepWorkerLost, StepTick>;

// --- Commands ---
// Appended to the worker's list. It sends nothing until it is told to.
struct ExtendList {
  WorkerId worker;
  std::vector<PartitionId> partitions;
  RowId row = 0;  // Of fixed codes: whose coefficients they are added with.
  std::span<const PartitionId> of_row = {};  // All of a row, which lasts as long as the policy.

  std::span<const PartitionId> all() const { return of_row.empty() ? partitions : of_row; }
};
// Give back those that were not started.
struct RevokeList {
  WorkerId worker;
  std::vector<PartitionId> partitions;
};
// Send the vector: as soon as the list is done, or now over what is done. Void when the list is
// extended before that.
struct SendVector {
  WorkerId worker;
  bool now = false;
};
// The step has enough: everybody stops.
struct StepEnough {};
using StepCommand = std::variant<ExtendList, RevokeList, SendVector, StepEnough>;

class StepPolicy {
 public:
  virtual ~StepPolicy() = default;

  // Appends to `out` what the beginning of the step causes.
  virtual void Begin(std::vector<StepCommand>& out) = 0;
  // `now` in seconds since the beginning, never going back.
  virtual void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) = 0;
  // When to send the next StepTick; infinity when none is wanted.
  virtual double NextTick() const = 0;
  // What a vector has of the gradient's length: 1, or less for codes that shorten messages.
  virtual double vector_fraction() const { return 1; }
  // Not 0: a worker sends after every so many partitions, without being told.
  virtual uint32_t sends_every() const { return 0; }
  // Workers keep the gradient of every partition: each vector covers all entries that are done.
  virtual bool resends() const { return false; }
  // False: it makes nothing of ListProgress, never takes anything back, and, unless vectors are
  // sent every so often, extends only lists all of which came, and has each sent at its end.
  virtual bool wants_progress() const { return true; }
};

}  // namespace motley
