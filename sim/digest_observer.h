// SPDX-License-Identifier: Apache-2.0
// Takes every command and commit of a job into a digest.
#pragma once

#include "runtime/job.h"
#include "sim/digest.h"

namespace motley {

class DigestObserver final : public JobObserver {
 public:
  void OnCommand(const Command& command, Time now) override;
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override;
  void OnStepApplied(StepId step, std::span<const float> parameters, double batch_loss,
                     Time now) override;

  Digest& digest() { return digest_; }

 private:
  Digest digest_;
};

}  // namespace motley
