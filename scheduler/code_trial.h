// SPDX-License-Identifier: Apache-2.0
// Codes that a job tries against each other, by what their steps take: the step model errs, mostly
// where workers share processors and where links are narrow, and what was measured does not.
//
// They take turns: each runs for some steps, then the next one, then all again for twice as many,
// so that what changes meanwhile (other load on the machines) meets all of them. Whoever is worse
// than the best beyond noise is out; whoever takes far longer is stopped within its turn. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "scheduler/planner.h"
#include "scheduler/step_times.h"

namespace motley {

struct Contender {
  Candidate candidate;
  // What stragglers and losses add to its steps, as foreseen, in parts of an undisturbed one; and
  // in which part of the steps they show themselves. What is too rare to have been seen often
  // enough is taken from the model.
  double insured = 0;
  double often = 0;
  StepTimes times{256};
  bool out = false;
  bool refused = false;  // It is out since it cannot serve.
  double foreseen = 0;   // Seconds a step; 0: nothing is.
  double moving = 0;     // Seconds that sending the data that it lacks takes, as foreseen.

  double Score() const;  // Seconds a step, with what is too rare to have been measured.
};

class CodeTrial {
 public:
  // The first stays unless another is better by more than chance. One that has times already, from
  // just before, needs no first turn. Ends
  // after so many turns of each, and starts no turn after `most_steps` steps or when more than
  // `most_lost` is lost.
  CodeTrial(std::vector<Contender> contenders, uint32_t most_turns, uint64_t most_steps,
            double most_lost);

  // The one to run next; when over, the winner.
  const Candidate& running() const;
  // A step of it took so long. `counts`: nothing but the code had a part in that. Steps that do not
  // count are waited out, while they take little longer than was foreseen.
  void Step(double seconds, bool counts);
  void Refuse();  // It cannot serve.
  bool over() const { return over_; }
  const Contender& winner() const;
  // By how much longer the others took than the first one would have, in steps of that.
  double lost() const;
  // Seconds that a step of the best one so far takes; 0: none was measured.
  double usual() const { return contenders_[Best()].times.Mean(); }
  const std::vector<Contender>& contenders() const { return contenders_; }

 private:
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  bool MayWait() const;
  void EndTurn();
  void Judge();
  bool IsSoonSeen(const Contender& one) const;
  void Next();
  void Begin();
  bool HasNoTurn(size_t contender) const;
  bool AllAreAlike() const;
  size_t Best() const;

  std::vector<Contender> contenders_;
  const uint32_t most_turns_;
  uint64_t steps_left_;
  const double most_lost_;
  double others_seconds_ = 0, others_steps_ = 0;
  std::vector<bool> measured_;      // By contender, when the trial began.
  uint32_t turn_ = 0;               // Of everybody.
  size_t now_ = 0;                  // Who runs.
  uint32_t settling_ = 0;           // Its steps in this turn that did not count,
  uint32_t counted_ = 0;            // and that did,
  double turn_seconds_ = 0;         // both together,
  double most_seconds_ = kNoLimit;  // and what they may take.
  double waited_ = 0;               // Its steps in this turn while data were sent,
  double waited_seconds_ = 0;       // and what they took.
  bool over_ = false;
};

}  // namespace motley
