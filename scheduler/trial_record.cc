// SPDX-License-Identifier: Apache-2.0
#include "scheduler/trial_record.h"

#include <algorithm>

namespace motley {
namespace {

constexpr uint64_t kFirstPause = 100;  // Steps; twice as many each time.
constexpr uint64_t kAfterChange = 2;   // So many times fewer when the cluster has changed.
constexpr uint32_t kMostDoublings = 10;

}  // namespace

bool TrialRecord::MayTry(const Candidate& candidate, StepId step, uint64_t changes) const {
  for (const Entry& entry : entries_) {
    if (entry.candidate != candidate) continue;
    uint64_t pause = kFirstPause << std::min(entry.times - 1, kMostDoublings);
    if (changes != entry.changes) pause /= kAfterChange;
    return step >= entry.step + pause;
  }
  return true;
}

void TrialRecord::Lost(const Candidate& candidate, StepId step, uint64_t changes) {
  auto at = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.candidate == candidate; });
  if (at == entries_.end()) at = entries_.insert(at, Entry{candidate, 0, 0, 0});
  at->step = step;
  at->changes = changes;
  ++at->times;
}

void TrialRecord::Won(const Candidate& candidate) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.candidate == candidate; });
}

}  // namespace motley
