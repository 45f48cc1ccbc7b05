// SPDX-License-Identifier: Apache-2.0
// How long to wait for an answer, learned from the answers that came. Pure.
//
// An arrival is recorded as the ratio of the time it took to the time that the worker's speed made
// one expect; so workers and loads of any size share one window, and overheads that the speeds do
// not show (network, decoding) are learned with the rest. An answer is overdue at
// median + k * MAD of these ratios (mechanisms: adaptive deadline), and never before a floor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace motley {

// The last values of something, and their robust centre and spread.
class RobustWindow {
 public:
  explicit RobustWindow(size_t capacity) : capacity_(capacity) {}

  void Add(double value);
  size_t count() const { return values_.size(); }
  // median + k * median absolute deviation; 0 while empty.
  double Limit(double k) const;
  double Most() const { return sorted_.empty() ? 0 : sorted_.back(); }

 private:
  size_t capacity_;
  size_t next_ = 0;             // Overwritten once full.
  std::vector<double> values_;  // As they came.
  std::vector<double> sorted_;
  // The last answer of Limit, which is asked for every assignment of a step.
  mutable double limit_ = 0;
  mutable double limit_k_ = 0;
  mutable bool limit_known_ = false;
};

class DeadlineModel {
 public:
  DeadlineModel();

  // An answer took `elapsed` since its assignment. `placed` partitions had to be sent before;
  // `expected_seconds` is samples / speed, 0 when the speed is not known.
  void AddArrival(Duration elapsed, double expected_seconds, uint32_t placed);

  // How long after its assignment an answer is overdue. At least 1.5 times what is expected, and
  // generous while little is known: of transfers, several times the slowest one that was seen.
  // `wait_seconds`: what answers take besides, as far as others showed that before the first came
  // here.
  Duration Limit(double expected_seconds, uint32_t placed, double wait_seconds = 0) const;

  // What `before` knows of transfers, which are the links' and not a policy's.
  void GoOnFrom(const DeadlineModel& before) {
    transfers_ = before.transfers_;
    begun_ = before.begun_;
  }
  // The first word of one that was sent so many, of which not all may have come: counts as long as
  // no arrival of all is known.
  void AddBegun(Duration elapsed, double expected_seconds, uint32_t placed);

  bool KnowsTransfers() const { return Transfers().count() > 0; }
  // What sending so many partitions to a worker usually takes; 0 while nothing is known.
  double TransferSeconds(size_t partitions) const {
    return static_cast<double>(partitions) * Transfers().Limit(0);
  }

 private:
  const RobustWindow& Transfers() const { return transfers_.count() > 0 ? transfers_ : begun_; }

  RobustWindow ratios_;     // Elapsed / expected, of answers that needed no transfer.
  RobustWindow transfers_;  // Extra seconds per partition that had to be sent,
  RobustWindow begun_;      // and until something was done of the first of them.
};

}  // namespace motley
