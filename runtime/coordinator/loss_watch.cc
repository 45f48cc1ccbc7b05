// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/loss_watch.h"

#include <fmt/format.h>

#include <cmath>

namespace motley {
namespace {

constexpr double kFar = 100;  // Times the first loss: nothing that learns goes there,
constexpr int kSteps = 5;     // and stays for so many steps.
constexpr char kAdvice[] =
    "the training diverges. Lower `learning_rate`, or look for huge values in the data";

}  // namespace

std::optional<std::string> LossWatch::Add(StepId step, double batch_loss) {
  if (told_) return std::nullopt;
  if (!std::isfinite(batch_loss)) {
    told_ = true;
    return fmt::format("step {}: the loss is not a number any more: {}", step, kAdvice);
  }
  if (!first_) first_ = std::abs(batch_loss);
  far_ = *first_ > 0 && std::abs(batch_loss) > kFar * *first_ ? far_ + 1 : 0;
  if (far_ < kSteps) return std::nullopt;
  told_ = true;
  return fmt::format(
      "step {}: the loss is {:.3g}, more than {:.0f} times the {:.3g} of the first step: {}", step,
      batch_loss * unit_, kFar, *first_ * unit_, kAdvice);
}

}  // namespace motley
