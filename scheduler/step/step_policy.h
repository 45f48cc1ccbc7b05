// SPDX-License-Identifier: Apache-2.0
// How one step is worked off: a policy decides which worker computes which partitions in which
// order, when a worker sends its vector, and when the step has enough. A policy only decides: no
// I/O, clock, threads or hidden randomness. The cost-only step model (planner/step_model.h)
// therefore runs the very code that serves a job.
//
// Every worker has a list of partitions and computes them in order into one running sum. The vector
// that it sends covers the entries computed since the last vector; once sent, an entry is spent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"

namespace motley {

// A worker's figures at the beginning of a step. Seconds count from that moment.
struct StepWorker {
  double seconds_per_partition = 1;  // Predicted, > 0.
  double overhead_seconds = 0;       // Before its first partition.
  double latency_seconds = 0;        // One way, of a control message.
  double message_seconds = 0;        // How long one of its vectors occupies the server's link.
  bool live = true;
  double send_seconds = 0;    // How long one occupies its own link first.
  uint32_t report_every = 1;  // Partitions between two of its reports, > 0.
  // The time that each piece of its work (scheduler/step/pieces.h) takes besides computing.
  double piece_overhead_seconds = 0;
  double piece_knee = 0;   // The number of partitions up to which a piece takes the same time.
  double least_piece = 0;  // The fewest partitions in a piece. 0: each leased partition is a piece,
                           // and so is work given out once.
  // Until it has the step's parameters, and how long these occupy the server's link.
  double start_seconds = 0;
  double start_link_seconds = 0;
  // Until data that its work needs and that were sent before are there.
  double data_seconds = 0;
};

// When the worker has the parameters, if those for all workers occupy the server's link this long.
inline double ReadySeconds(const StepWorker& worker, double start_link_seconds) {
  const double link = start_link_seconds > 0 ? worker.latency_seconds + start_link_seconds : 0;
  return std::max(worker.start_seconds, link);
}

// Workers are numbered by their place in `workers`.
struct StepSetting {
  std::vector<StepWorker> workers;
  std::vector<std::vector<WorkerId>> holders;  // By partition; the primary first.
  double least_pace_seconds = 0;               // Decisions need not be closer together than this.
  // Time to send a worker all data; infinity: no worker gets data that it does not hold.
  double data_seconds = std::numeric_limits<double>::infinity();
  // If partitions stand for rows: the work of each compared with the mean. A worker may leave a
  // kept row that it has begun, after the piece of work on the device. Otherwise empty.
  std::vector<double> work;
};

// --- Events ---
// The first `done` entries that the worker was given and kept are computed.
struct ListProgress {
  WorkerId worker;
  uint32_t done;
  double compute_seconds = 0;  // The compute time by the worker's clock; 0: not reported.
};
// The answer to RevokeList: these partitions had not been started and are dropped; the others stay.
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
// Appends to the worker's list. The worker sends nothing until SendVector.
struct ExtendList {
  WorkerId worker;
  std::vector<PartitionId> partitions;
  RowId row = 0;  // For fixed codes: the row whose coefficients they are added with.
  std::span<const PartitionId> of_row = {};  // The whole row; it must last as long as the policy.
  double data = 0;  // The part of all data that the worker does not hold and is sent first.

  std::span<const PartitionId> all() const { return of_row.empty() ? partitions : of_row; }
};
// Asks for partitions back that were not started.
struct RevokeList {
  WorkerId worker;
  std::vector<PartitionId> partitions;
};
// Asks for the vector: as soon as the list is done, or now over the entries that are done. Void if
// the list is extended before that.
struct SendVector {
  WorkerId worker;
  bool now = false;
};
// The step has enough: all workers stop.
struct StepEnough {};
using StepCommand = std::variant<ExtendList, RevokeList, SendVector, StepEnough>;

class StepPolicy {
 public:
  virtual ~StepPolicy() = default;

  // Appends to `out` the commands that begin the step.
  virtual void Begin(std::vector<StepCommand>& out) = 0;
  // `now` is in seconds since the beginning and never goes back.
  virtual void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) = 0;
  // The time of the next StepTick; infinity when none is wanted.
  virtual double NextTick() const = 0;
  // The length of a vector relative to the gradient: 1, or less for codes that shorten messages.
  virtual double vector_fraction() const { return 1; }
  // A worker sends by itself after every partition.
  virtual bool sends_each() const { return false; }
  // Workers keep the gradient of every partition: each vector covers all entries that are done.
  virtual bool resends() const { return false; }
  // False: the policy ignores ListProgress and never takes anything back. Unless workers send by
  // themselves (sends_each), it extends only lists whose vectors all came, and has each sent at
  // its end.
  virtual bool wants_progress() const { return true; }
};

}  // namespace motley
