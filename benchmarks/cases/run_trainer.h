// SPDX-License-Identifier: Apache-2.0
// Runs a trainer's work as one call.
#pragma once

#include <optional>
#include <utility>

#include "base/status.h"
#include "runtime/uv_loop.h"
#include "training/trainers/trainer.h"

namespace motley {

// Runs the trainer's `loop` until the work is done.
inline Status RunTrainer(UvLoop& loop, Trainer& trainer, GradientWork work) {
  std::optional<Status> status;
  trainer.Accumulate(std::move(work), nullptr, [&](const Result<Trainer::Outcome>& outcome) {
    status = outcome.status();
    loop.Stop();
  });
  while (!status) loop.Run();
  return *status;
}

}  // namespace motley
