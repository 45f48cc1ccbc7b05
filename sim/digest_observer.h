// SPDX-License-Identifier: Apache-2.0
// Takes every command and commit of a job into a digest.
#pragma once

#include "runtime/job_event.h"
#include "sim/digest.h"

namespace motley {

class DigestObserver final : public JobObserver {
 public:
  void OnEvent(const JobEvent& event) override;

  Digest& digest() { return digest_; }

 private:
  void On(const event::CommandGiven& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepApplied& event);

  Digest digest_;
};

}  // namespace motley
