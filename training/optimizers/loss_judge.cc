// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/loss_judge.h"

#include <cmath>
#include <utility>

namespace motley {

LossJudge::LossJudge(const JudgeOptions& options, const RateSchedule& schedule,
                     const JudgeState& before)
    : options_(options), schedule_(schedule), state_(before) {}

bool LossJudge::Hear(uint64_t version, double loss) {
  ++state_.seen;
  state_.waiting = true;
  const double bar = state_.best - options_.tolerance * std::abs(state_.first);
  state_.progress = std::isfinite(loss) && (state_.best_version == 0 || loss < bar);
  return Compare(version, loss);
}

bool LossJudge::Compare(uint64_t version, double loss) {
  if (!std::isfinite(loss)) return false;
  const bool first = state_.best_version == 0;
  if (!first && !(loss < state_.best)) return false;
  if (first) state_.first = loss;
  state_.best = loss;
  state_.best_version = version;
  return true;
}

bool LossJudge::Conclude() {
  if (!std::exchange(state_.waiting, false)) return false;
  state_.idle = state_.progress ? 0 : state_.idle + 1;
  const bool lowers = schedule_.kind == RateSchedule::Kind::kPlateau;
  if (lowers && state_.lowered < schedule_.times && state_.idle >= schedule_.patience) {
    ++state_.lowered;
    state_.idle = 0;
  }
  return options_.patience > 0 && state_.idle >= options_.patience;
}

double LossJudge::rate_factor() const {
  return state_.lowered == 0 ? 1 : std::pow(schedule_.factor, state_.lowered);
}

}  // namespace motley
