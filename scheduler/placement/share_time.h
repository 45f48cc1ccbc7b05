// SPDX-License-Identifier: Apache-2.0
// The times behind load_balance.h: of whole and divisible partitions of each worker. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/placement/load_balance.h"

namespace motley {

class ShareTimes {
 public:
  // The request is borrowed, and its numbers are sane.
  explicit ShareTimes(const ShareRequest& request);

  // That so many partitions take a worker; 0 for none.
  double Seconds(WorkerId worker, uint32_t count) const;
  // Partitions, and whole ones, that a worker finishes within a time; 0 when it is not present.
  double Divisible(WorkerId worker, double seconds) const;
  uint32_t Whole(WorkerId worker, double seconds) const;
  uint32_t Most(WorkerId worker) const;  // Whatever time it takes.

  // A time in which all workers together finish so many whole ones, and few more; at most what they
  // can at all.
  double EnoughFor(uint64_t partitions) const;
  // The least time for which `enough` holds, as it does for all longer ones; one by which everybody
  // has finished the most that it can where it never does.
  double LeastTime(const std::function<bool(double seconds)>& enough) const;

 private:
  double Latest() const;

  const std::vector<ShareWorker>& workers_;
  double samples_;
  uint32_t partitions_;
};

}  // namespace motley
