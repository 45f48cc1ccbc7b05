// SPDX-License-Identifier: Apache-2.0
// How long to wait for an answer, learned from the answers that came. Pure.
//
// An arrival is recorded as the ratio of the time it took to the time expected from the worker's
// speed. So workers and loads of any size share one window, and overheads that the speeds do not
// show (network, decoding) are learned too. An answer is overdue at median + k * MAD of these
// ratios (mechanisms: adaptive deadline), and never before a floor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace motley {

// The last values of a quantity, with their robust centre and spread.
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
  size_t next_ = 0;             // The next place to overwrite once full.
  std::vector<double> values_;  // In order of arrival.
  std::vector<double> sorted_;
  // The last result of Limit, which is needed for every assignment of a step.
  mutable double limit_ = 0;
  mutable double limit_k_ = 0;
  mutable bool limit_known_ = false;
};

class DeadlineModel {
 public:
  DeadlineModel();

  // An answer took `elapsed` since its assignment. `placed` partitions had to be sent first.
  // `expected_seconds` is samples / speed, 0 when the speed is not known.
  void AddArrival(Duration elapsed, double expected_seconds, uint32_t placed);

  // Time after its assignment at which an answer is overdue. The limit is at least 1.5 times the
  // expected time, and generous while little is known: for transfers, several times the slowest one
  // seen so far. `wait_seconds` is the time that answers take besides computing, if answers to
  // others showed it before the first one came here.
  Duration Limit(double expected_seconds, uint32_t placed, double wait_seconds = 0) const;

  // Takes over what `before` knows of transfers, which depends on the links and not on a policy.
  void GoOnFrom(const DeadlineModel& before) {
    transfers_ = before.transfers_;
    begun_ = before.begun_;
  }
  // The first message of a worker that was sent this many partitions, of which not all may have
  // come. It counts as long as no arrival of all is known.
  void AddBegun(Duration elapsed, double expected_seconds, uint32_t placed);

  bool KnowsTransfers() const { return Transfers().count() > 0; }
  // The usual time to send this many partitions to a worker; 0 while nothing is known.
  double TransferSeconds(size_t partitions) const {
    return static_cast<double>(partitions) * Transfers().Limit(0);
  }

 private:
  const RobustWindow& Transfers() const { return transfers_.count() > 0 ? transfers_ : begun_; }

  RobustWindow ratios_;     // Elapsed / expected, of answers that needed no transfer.
  RobustWindow transfers_;  // Extra seconds per partition that had to be sent.
  RobustWindow begun_;      // The same until the first message about them.
};

}  // namespace motley
