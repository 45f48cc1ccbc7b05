// SPDX-License-Identifier: Apache-2.0
// For how long a vector occupies the server's link, and its worker's own, learned from how long
// vectors took to come. Pure bookkeeping.
//
// One vector shows the slower of both links. Vectors that come at the same time show the server's:
// they share it if it is the narrow one, and then the time in which any of them came, divided by
// how many they are, is what each occupies of it. Where they do not, that quotient is smaller than
// what one takes, as it should be.
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
  // Looks at RowArrived and LeaseVector.
  void See(const Event& event, Time now);
  void StepEnded();

  // Of a whole vector, on the server's link; 0: not known, or too short to see.
  double message_seconds() const { return message_.value_or(0); }
  // For so much longer on the worker's own. Of a worker that never sent: as the others.
  double SendSeconds(WorkerId worker) const;

 private:
  void Came(WorkerId worker, Duration transfer, Time now);

  std::optional<double> message_;
  std::vector<std::optional<double>> alone_;  // By worker: when nothing else was in its way.
  // Of this step: times in which anything came, apart from each other and in order; the vectors;
  // and the sum of their times.
  std::vector<std::pair<Time, Time>> busy_;
  uint32_t vectors_ = 0;
  double sum_ = 0;
};

}  // namespace motley
