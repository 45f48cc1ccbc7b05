// SPDX-License-Identifier: Apache-2.0
// The times of whole and divisible partitions for each worker, for load_balance.h. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scheduler/placement/load_balance.h"

namespace motley {

class ShareTimes {
 public:
  // Keeps a reference to the request, whose numbers are sane.
  explicit ShareTimes(const ShareRequest& request);

  // The time for `count` partitions; 0 for none.
  double Seconds(WorkerId worker, uint32_t count) const;
  // The partitions, divisible or whole, that a worker finishes within a time; 0 if it is not
  // present.
  double Divisible(WorkerId worker, double seconds) const;
  uint32_t Whole(WorkerId worker, double seconds) const;
  uint32_t Most(WorkerId worker) const;  // The most partitions, whatever their time.

  // A time in which all workers together finish that many whole partitions, and few more; at most
  // what they can finish at all.
  double EnoughFor(uint64_t partitions) const;
  // The least time for which `enough` holds, as it does for all longer ones. If it never holds, a
  // time by which each worker has finished the most that it can.
  double LeastTime(const std::function<bool(double seconds)>& enough) const;

 private:
  double Latest() const;

  const std::vector<ShareWorker>& workers_;
  double samples_;
  uint32_t partitions_;
};

}  // namespace motley
