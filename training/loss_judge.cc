// SPDX-License-Identifier: Apache-2.0
#include "training/loss_judge.h"

#include <cmath>
#include <utility>

namespace motley {

LossJudge::LossJudge(const JudgeOptions& options, const RateSchedule& schedule,
                     const JudgeState& before)
    : options_(options), schedule_(schedule), state_(before) {}

bool LossJudge::Hear(uint64_t version, double loss) {
  const bool finite = std::isfinite(loss);
  const bool fresh = state_.seen++ == 0 || !std::isfinite(state_.first);
  if (fresh) state_.first = loss;
  const bool best = finite && (fresh || loss < state_.best);
  state_.waiting = true;
  state_.progress =
      finite && (fresh || loss < state_.best - options_.tolerance * std::abs(state_.first));
  if (best) {
    state_.best = loss;
    state_.best_version = version;
  }
  return best;
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
