// SPDX-License-Identifier: Apache-2.0
#include "planner/plan_reason.h"

#include <fmt/format.h>

#include <cmath>

namespace motley {
namespace {

constexpr double kBusyLink = 0.5;  // Part of a step; above it, the link determines the step.
constexpr double kMuchWork = 0.2;  // Work beyond the batch.
constexpr double kWorthSaying = 0.02;
constexpr double kRoundsToNone = 0.005;

std::string Percent(double part) { return fmt::format("{:+.0f} %", 100 * part); }

// The loss compared with an undisturbed step. Means of random steps may come out a little lower
// than that.
std::string Loss(double seconds, const SchemeCost& cost) {
  const double part = seconds / cost.undisturbed - 1;
  return part < kRoundsToNone ? "nothing" : Percent(part);
}

// The cause that makes its undisturbed step longer than the best one.
std::string Price(const PlannedScheme& planned) {
  if (planned.premium < kWorthSaying) return "costs nothing while all is well";
  std::string cause;
  if (planned.cost.link > kBusyLink) {
    cause = fmt::format(", because its vectors keep the server's link busy for {:.0f} % of it",
                        100 * planned.cost.link);
  } else if (planned.cost.work > 1 + kMuchWork) {
    cause = fmt::format(", because {:.1f} times the work is done", planned.cost.work);
  }
  return fmt::format("undisturbed steps take {}{}", Percent(planned.premium), cause);
}

// The effect of stragglers and losses.
std::string Cover(const PlannedScheme& planned) {
  const SchemeCost& cost = planned.cost;
  std::string text;
  if (cost.one_slow != cost.undisturbed) {
    text += fmt::format("; a straggler costs {}", Loss(cost.one_slow, cost));
  }
  if (cost.loss != cost.undisturbed) {
    text += cost.loss_survived > 0.5 ? fmt::format("; a loss costs {}", Loss(cost.loss, cost))
                                     : "; after a loss the step starts over";
  }
  return text;
}

}  // namespace

std::string ReasonFor(const PlannedScheme& planned, const Ranking& ranking) {
  if (!planned.refused.empty()) return planned.refused;
  std::string text = Price(planned) + Cover(planned);
  if (!planned.exact) text += "; an error is left";
  if (&planned != &ranking.schemes.front()) return text;
  if (planned.candidate.copies == 1) return "nothing coded: " + text;
  return text;
}

}  // namespace motley
