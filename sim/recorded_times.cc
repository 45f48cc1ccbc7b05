// SPDX-License-Identifier: Apache-2.0
#include "sim/recorded_times.h"

#include <algorithm>

namespace motley {

std::function<double(double)> RunTimes::Compute(uint64_t step, WorkerId worker) const {
  const double seconds = trace_.At(step, worker).seconds_per_sample;
  if (!(seconds > 0)) return nullptr;
  return [seconds](double samples) { return samples * seconds; };
}

double RunTimes::BytesPerSecond(uint64_t step, WorkerId worker) const {
  return trace_.At(step, worker).bytes_per_second;
}

double RunTimes::LongestSeconds(double samples) const {
  double longest = 0;
  for (const RunTrace::Cell& cell : trace_.cells) {
    longest = std::max(longest, cell.seconds_per_sample);
  }
  return samples * longest;
}

void ReplayDriver::OnStepOpened(StepId step, const CodeForm& /*code*/, Time /*now*/) {
  const uint64_t recorded = (from_ + step) % times_->steps();
  const size_t count = std::min<size_t>(workers_.size(), times_->workers());
  for (WorkerId w = 0; w < count; ++w) {
    workers_[w]->Replay(times_->Compute(recorded, w), times_->BytesPerSecond(recorded, w));
  }
}

}  // namespace motley
