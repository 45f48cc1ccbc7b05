// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/loss_watch.h"

#include <cmath>

namespace motley {
namespace {

constexpr double kFar = 100;  // Times the first loss; training that learns does not stay there.
constexpr int kSteps = 5;     // Steps in a row.

}  // namespace

std::optional<notice::Diverges> LossWatch::Add(StepId step, double batch_loss) {
  if (told_) return std::nullopt;
  if (!std::isfinite(batch_loss)) {
    told_ = true;
    return notice::Diverges{step, std::nullopt, first_.value_or(0), kFar};
  }
  if (!first_) first_ = std::abs(batch_loss);
  far_ = *first_ > 0 && std::abs(batch_loss) > kFar * *first_ ? far_ + 1 : 0;
  if (far_ < kSteps) return std::nullopt;
  told_ = true;
  return notice::Diverges{step, batch_loss, *first_, kFar};
}

}  // namespace motley
