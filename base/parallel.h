// SPDX-License-Identifier: Apache-2.0
// The seam to parallel loops. Production uses TBB (devices/cpu); the plain-thread twin lets thread
// sanitizer see through, because a distribution's TBB is not instrumented; the serial one is for
// the simulator.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace motley {

// Any thread may call For; calls may come from several threads at once.
class ParallelFor {
 public:
  using Body = std::function<void(size_t begin, size_t end)>;

  virtual ~ParallelFor() = default;

  // Calls `body` on disjoint ranges that cover [0, count), perhaps at once on several threads, and
  // returns when all have run. Ranges have at least `grain` (>= 1) items, save the last.
  // `body` must not throw. How the range is cut never depends on the number of threads, so that
  // sums per range are the same on every machine.
  virtual void For(size_t count, size_t grain, const Body& body) = 0;
  virtual size_t threads() const = 0;
};

// Runs everything on the caller's thread, with the same cuts.
std::unique_ptr<ParallelFor> MakeSerialParallelFor();
// Plain threads, started for each call: slow, but every access is visible to sanitizers.
std::unique_ptr<ParallelFor> MakeThreadParallelFor(size_t threads);

}  // namespace motley
