// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/approximate_step.h"

#include <utility>

#include "base/assert.h"
#include "coding/decode/approximate.h"

namespace motley {

ApproximateStep::ApproximateStep(std::shared_ptr<const StepSetting> setting,
                                 std::shared_ptr<const CodeForm> form,
                                 std::shared_ptr<const RowCode> code,
                                 const ApproximateLimits& limits)
    : setting_(std::move(setting)),
      form_(std::move(form)),
      code_(std::move(code)),
      limits_(limits),
      arrived_(*code_),
      next_tick_(limits.deadline_seconds) {
  for (const StepWorker& worker : setting_->workers) live_.push_back(worker.live);
}

void ApproximateStep::Begin(std::vector<StepCommand>& out) {
  for (WorkerId w = 0; w < live_.size(); ++w) {
    if (!live_[w] || code_->rows[w].empty()) continue;
    ++under_way_;
    out.emplace_back(ExtendList{w, {}, w, code_->rows[w]});
    out.emplace_back(SendVector{w});
  }
}

void ApproximateStep::OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) {
  if (const auto* arrived = std::get_if<VectorArrived>(&event)) {
    if (!live_[arrived->worker]) return;
    --under_way_;
    arrived_.Add(arrived->worker);
  } else if (const auto* lost = std::get_if<StepWorkerLost>(&event)) {
    if (!live_[lost->worker]) return;
    live_[lost->worker] = false;
    if (!code_->rows[lost->worker].empty() && !arrived_.present()[lost->worker]) --under_way_;
  }
  if (now >= limits_.deadline_seconds) next_tick_ = std::numeric_limits<double>::infinity();
  if (Enough(now)) out.emplace_back(StepEnough{});
}

bool ApproximateStep::Enough(double now) const {
  if (arrived_.count() == 0) return false;
  if (under_way_ == 0 || arrived_.count() >= limits_.quorum) return true;
  return now >= limits_.deadline_seconds || arrived_.Enough();
}

double ApproximateStep::Error() const {
  const Result<ApproximateDecoding> decoding = SolveApproximate(*form_, arrived_.present());
  MOTLEY_ASSERT(decoding.ok());
  return decoding->error;
}

}  // namespace motley
