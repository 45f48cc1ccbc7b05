// SPDX-License-Identifier: Apache-2.0
// How long a vector occupies the server's link and its worker's own link, learned from the time
// that vectors took to come. Pure bookkeeping.
//
// One vector shows the slower of both links. Vectors that come at the same time show the server's
// link. If that link is the narrow one, they share it, and each occupies it for the time in which
// any of them came, divided by their number. If it is not, the quotient is smaller than the time of
// one vector, as it should be.
//
// Vectors that always come at the same time do not show which link is narrow. It is the workers' if
// each vector takes as long as it would alone (LinkMeasured), and the server's otherwise. If other
// nodes own the vector, it does not come here, and only the measured links count (OwnersPlaced).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/scheduler.h"

namespace motley {

class VectorWatch {
 public:
  // Uses RowArrived (whose answers have `part` of a vector's length), LeaseVector, LinkMeasured,
  // OwnersPlaced and WorkerJoined.
  void See(const Event& event, Time now, double part = 1);
  void StepEnded();

  // For a whole vector on the server's link; 0 if unknown or too short to see.
  double message_seconds() const;
  // The additional time on the worker's own link. A worker that never sent gets the value of the
  // others.
  double SendSeconds(WorkerId worker) const;
  // True if some worker's time for a vector alone was measured. The times of other workers among
  // all are then shortened by the same factor.
  bool KnowsLinks() const;

 private:
  struct Seen {
    std::optional<double> among;  // Seconds of its vectors while others may come, too.
    std::optional<double> alone;  // The least that was measured.
  };
  Seen& Of(WorkerId worker);
  void Came(WorkerId worker, Duration transfer, double part, Time now);
  double PartOfAlone() const;
  std::optional<double> Alone(const Seen& seen, double part) const;

  std::optional<double> message_;
  std::vector<Seen> seen_;  // By worker.
  // This step's times in which anything came (disjoint, in order), its vectors, and the sum of
  // their times.
  std::vector<std::pair<Time, Time>> busy_;
  double vectors_ = 0;  // Counted in whole vectors.
  double sum_ = 0;
};

}  // namespace motley
