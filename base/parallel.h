// SPDX-License-Identifier: Apache-2.0
// The interface to parallel loops. Production uses TBB (devices/cpu). The plain-thread version is
// for thread sanitizer, which cannot see inside a distribution's TBB. The serial version is for the
// simulator.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace motley {

// Any thread may call For, also several threads at once.
class ParallelFor {
 public:
  using Body = std::function<void(size_t begin, size_t end)>;

  virtual ~ParallelFor() = default;

  // Calls `body` on disjoint ranges that cover [0, count), possibly from several threads, and
  // returns when all calls have returned. Every range but the last has at least `grain` (>= 1)
  // items. `body` must not throw. The cuts never depend on the number of threads, so that sums per
  // range are the same on every machine.
  virtual void For(size_t count, size_t grain, const Body& body) = 0;
  virtual size_t threads() const = 0;
};

// Runs all ranges on the caller's thread, with the same cuts.
std::unique_ptr<ParallelFor> MakeSerialParallelFor();
// Starts plain threads for each call: slow, but sanitizers see every access.
std::unique_ptr<ParallelFor> MakeThreadParallelFor(size_t threads);

}  // namespace motley
