// SPDX-License-Identifier: Apache-2.0
// For how long a vector occupies the server's link, and its worker's own, learned from how long
// vectors took to come. Pure bookkeeping.
//
// One vector shows the slower of both links. Vectors that come at the same time show the server's:
// they share it if it is the narrow one, and then the time in which any of them came, divided by
// how many they are, is what each occupies of it. Where they do not, that quotient is smaller than
// what one takes, as it should be.
//
// Vectors that always come all at the same time do not say whose link is narrow: the workers' if
// each takes as long as it would alone (LinkMeasured), else the server's.
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
  // Looks at RowArrived, whose answers are `part` of a vector long, LeaseVector, LinkMeasured and
  // WorkerJoined.
  void See(const Event& event, Time now, double part = 1);
  void StepEnded();

  // Of a whole vector, on the server's link; 0: not known, or too short to see.
  double message_seconds() const { return message_.value_or(0); }
  // For so much longer on the worker's own. Of a worker that never sent: as the others.
  double SendSeconds(WorkerId worker) const;
  // What one takes alone was measured of somebody; of the others it is what theirs take among all,
  // as much shortened.
  bool KnowsLinks() const;

 private:
  struct Seen {
    std::optional<double> among;  // Seconds of its vectors, whatever else came.
    std::optional<double> alone;  // The least that was measured.
  };
  Seen& Of(WorkerId worker);
  void Came(WorkerId worker, Duration transfer, double part, Time now);
  double PartOfAlone() const;
  std::optional<double> Alone(const Seen& seen, double part) const;

  std::optional<double> message_;
  std::vector<Seen> seen_;  // By worker.
  // Of this step: times in which anything came, apart from each other and in order; the vectors;
  // and the sum of their times.
  std::vector<std::pair<Time, Time>> busy_;
  double vectors_ = 0;  // Whole ones.
  double sum_ = 0;
};

}  // namespace motley
