// SPDX-License-Identifier: Apache-2.0
// Codes that take turns: who wins, what a trial costs, and when one may be tried again.
#include "scheduler/code_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "scheduler/step_times.h"
#include "scheduler/trial_record.h"

namespace motley {
namespace {

const Candidate kPlain = {"proportional", 1};
const Candidate kLeases = {"adaptive", 2};
const Candidate kCopies = {"repetition", 2};

std::vector<Contender> Contenders(const std::vector<Candidate>& candidates) {
  std::vector<Contender> contenders;
  for (const Candidate& candidate : candidates) contenders.emplace_back().candidate = candidate;
  return contenders;
}

// Runs it; `seconds` says what step number n of a candidate takes. Returns steps by scheme.
std::map<std::string, int> RunAll(CodeTrial& trial,
                                  const std::function<double(const Candidate&, int)>& seconds) {
  std::map<std::string, int> steps;
  for (int n = 0; !trial.over(); ++n) {
    EXPECT_LT(n, 10000) << "it never ends";
    if (n == 10000) break;
    const Candidate running = trial.running();
    trial.Step(seconds(running, n), true);
    ++steps[running.scheme];
  }
  return steps;
}

TEST(StepTimes, FewStepsThatAreAlikeAreNotAsSureAsTheyLook) {
  StepTimes times;
  for (int i = 0; i < 4; ++i) times.Add(1);
  EXPECT_EQ(times.Mean(), 1);
  EXPECT_NEAR(times.Error(), 0.02, 1e-12);
}

TEST(StepTimes, OneFaultIsNoVerdictOnAllOtherSteps) {
  StepTimes times;
  for (int i = 0; i < 9; ++i) times.Add(1);
  times.Add(1000);
  EXPECT_NEAR(times.Mean(), 1.5, 1e-12) << "it counts as six";
  EXPECT_GT(times.Error(), 0.4) << "and is doubted";
}

TEST(StepTimes, WhatWasLongAgoIsForgotten) {
  StepTimes times(8);
  for (int i = 0; i < 20; ++i) times.Add(5);
  for (int i = 0; i < 8; ++i) times.Add(1);
  EXPECT_EQ(times.count(), 8u);
  EXPECT_EQ(times.Mean(), 1);
}

TEST(CodeTrial, TheFasterOneWinsThroughNoise) {
  int right = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed, Stream::kTest);
    CodeTrial trial(Contenders({kLeases, kPlain, kCopies}), 6, 1000, 1000);
    RunAll(trial, [&](const Candidate& candidate, int) {
      const double mean = candidate == kPlain ? 1 : candidate == kLeases ? 1.3 : 1.5;
      return mean * std::max(0.3, 1 + 0.3 * random.Normal());
    });
    right += trial.winner().candidate == kPlain ? 1 : 0;
  }
  EXPECT_GE(right, 45);
}

TEST(CodeTrial, WhoeverTakesFarLongerIsStoppedWithinItsTurn) {
  CodeTrial trial(Contenders({kPlain, kLeases}), 6, 1000, 1000);
  const auto steps = RunAll(
      trial, [](const Candidate& candidate, int) { return candidate == kPlain ? 1.0 : 20.0; });
  EXPECT_EQ(steps.at("adaptive"), 1) << "one step was enough to see it";
  EXPECT_EQ(trial.winner().candidate, kPlain);
}

TEST(CodeTrial, OfThoseThatAreAlikeTheOneWithTheFewestCopiesWins) {
  CodeTrial trial(Contenders({kLeases, kCopies, kPlain}), 8, 100000, 1000);
  const auto steps = RunAll(
      trial, [](const Candidate& candidate, int) { return candidate == kCopies ? 0.99 : 1.0; });
  EXPECT_EQ(trial.winner().candidate, kPlain);
  EXPECT_LE(steps.at("adaptive"), 40) << "it is known soon that they are alike";
}

TEST(CodeTrial, TheOneThatRunsStaysAmongEquals) {
  CodeTrial trial(Contenders({kCopies, kLeases}), 3, 1000, 1000);
  RunAll(trial, [](const Candidate& candidate, int) { return candidate == kLeases ? 0.98 : 1.0; });
  EXPECT_EQ(trial.winner().candidate, kCopies);
}

// Undecided, the first stays; and who ran until now need not run again to be compared.
TEST(CodeTrial, WhoWasMeasuredJustBeforeNeedsNoFirstTurn) {
  std::vector<Contender> contenders = Contenders({kPlain, kLeases});
  for (int i = 0; i < 3; ++i) contenders[1].times.Add(1);
  CodeTrial trial(contenders, 1, 1000, 1000);
  const auto steps = RunAll(trial, [](const Candidate&, int) { return 1.01; });
  EXPECT_EQ(steps.count("adaptive"), 0u);
  EXPECT_EQ(steps.at("proportional"), 5);
  EXPECT_EQ(trial.winner().candidate, kPlain);
}

// All steps grow longer meanwhile: the later ones of a candidate are no reason to leave it.
TEST(CodeTrial, LoadThatGrowsMeetsAllOfThem) {
  CodeTrial trial(Contenders({kLeases, kPlain}), 6, 1000, 1000);
  RunAll(trial, [](const Candidate& candidate, int n) {
    return (candidate == kPlain ? 1.0 : 1.25) * (1 + 0.02 * n);
  });
  EXPECT_EQ(trial.winner().candidate, kPlain);
}

// Steps without a straggler are no proof against one that is to be expected in each fiftieth.
TEST(CodeTrial, WhatIsTooRareToBeSeenIsTakenFromTheModel) {
  std::vector<Contender> contenders = Contenders({kPlain, kLeases});
  for (Contender& contender : contenders) contender.often = 0.02;
  contenders[0].insured = 0.2;
  CodeTrial trial(contenders, 3, 1000, 1000);
  const auto steps = RunAll(
      trial, [](const Candidate& candidate, int) { return candidate == kPlain ? 1.0 : 1.05; });
  EXPECT_EQ(trial.winner().candidate, kLeases);
  EXPECT_EQ(steps.at("proportional"), 5) << "nor are they worth waiting for";
}

// But those that must come soon, if they come, are waited for by who was the better one without.
TEST(CodeTrial, WhatWillSoonBeSeenIsNoReasonToLeaveTheBetterOne) {
  for (const bool comes : {false, true}) {
    std::vector<Contender> contenders = Contenders({kLeases, kCopies});
    for (Contender& contender : contenders) contender.often = 0.4;
    contenders[0].insured = 1.5;
    CodeTrial trial(contenders, 6, 1000, 1000);
    RunAll(trial, [comes](const Candidate& candidate, int n) {
      if (candidate == kCopies) return 1.2;
      return comes && n > 5 && n % 5 < 2 ? 3.0 : 1.0;
    });
    EXPECT_EQ(trial.winner().candidate, comes ? kCopies : kLeases)
        << "it does not come: " << !comes;
  }
}

TEST(CodeTrial, WhoCannotServeIsLeftOut) {
  CodeTrial trial(Contenders({kLeases, kPlain}), 3, 1000, 1000);
  while (trial.running() == kLeases) trial.Step(1, true);
  trial.Refuse();
  EXPECT_TRUE(trial.over());
  EXPECT_EQ(trial.winner().candidate, kLeases);
}

TEST(CodeTrial, WhoCannotServeNeverWinsAgainstOneThatWasNotMeasured) {
  CodeTrial trial(Contenders({kLeases, kPlain}), 3, 1000, 1000);
  trial.Refuse();  // Its answers did not decode.
  EXPECT_TRUE(trial.over());
  EXPECT_EQ(trial.winner().candidate, kPlain);
  EXPECT_EQ(trial.usual(), 0);
}

TEST(CodeTrial, WhoCannotServeAnyMoreDoesNotWinByFewerCopies) {
  CodeTrial trial(Contenders({kCopies, kPlain, kLeases}), 2, 1000, 1000);
  while (trial.contenders()[1].times.count() < 5) trial.Step(1, true);  // In its second turn.
  trial.Refuse();
  while (!trial.over()) trial.Step(1, true);
  EXPECT_EQ(trial.winner().candidate, kCopies);
}

TEST(CodeTrial, EndsWhenItHasLostEnoughOrHasHadItsSteps) {
  for (const bool lost : {true, false}) {
    CodeTrial trial(Contenders({kLeases, kPlain}), 20, lost ? 100000 : 30, lost ? 5 : 1000);
    Random random(1, Stream::kTest);
    const auto steps = RunAll(trial, [&](const Candidate& candidate, int) {
      const double mean = lost && candidate == kPlain ? 1.3 : 1;
      return mean * std::max(0.1, 1 + 2 * random.Normal());
    });
    EXPECT_LE(steps.at("adaptive") + steps.at("proportional"), lost ? 150 : 50);
    EXPECT_TRUE(!lost || trial.lost() > 5);
  }
}

// Of two steps that alternate, since noise as large as that tells nobody apart for long.
double EverySecond(int n, double mean, double off) { return n % 2 == 0 ? mean - off : mean + off; }

TEST(CodeTrial, NoTurnBeginsWhenMoreIsLostThanMayBe) {
  CodeTrial trial(Contenders({kLeases, kPlain}), 20, 100000, 4);
  const auto steps = RunAll(trial, [](const Candidate& candidate, int n) {
    return candidate == kPlain ? EverySecond(n, 1.2, 0.85) : EverySecond(n, 1, 0.6);
  });
  EXPECT_EQ(steps.at("proportional"), 5 + 9) << "two turns, of which the second was too much";
  EXPECT_GT(trial.lost(), 4);
  EXPECT_LT(trial.lost(), 6);
}

TEST(CodeTrial, WhoRanStaysWhereAnotherIsBetterByChance) {
  for (const double other : {0.94, 0.5}) {
    CodeTrial trial(Contenders({kCopies, kLeases}), 1, 1000, 1000);
    RunAll(trial, [other](const Candidate& candidate, int n) {
      return EverySecond(n, candidate == kLeases ? other : 1, 0.4);
    });
    EXPECT_EQ(trial.winner().candidate, other > 0.9 ? kCopies : kLeases) << other;
  }
}

TEST(TrialRecord, PausesGrowAndAreShorterAfterAChange) {
  TrialRecord record;
  EXPECT_TRUE(record.MayTry(kPlain, 10, 0));
  record.Lost(kPlain, 10, 0);
  EXPECT_FALSE(record.MayTry(kPlain, 100, 0));
  EXPECT_TRUE(record.MayTry(kPlain, 110, 0));
  EXPECT_FALSE(record.MayTry(kPlain, 50, 1));
  EXPECT_TRUE(record.MayTry(kPlain, 60, 1)) << "the cluster is another";
  EXPECT_TRUE(record.MayTry(kLeases, 11, 0)) << "it was about another";
  record.Lost(kPlain, 110, 0);
  EXPECT_FALSE(record.MayTry(kPlain, 220, 0));
  EXPECT_TRUE(record.MayTry(kPlain, 310, 0));
  record.Won(kPlain);
  EXPECT_TRUE(record.MayTry(kPlain, 111, 0));
}

TEST(TrialRecord, PausesDoNotGrowForEver) {
  TrialRecord record;
  for (int i = 0; i < 70; ++i) record.Lost(kPlain, 10, 0);
  EXPECT_FALSE(record.MayTry(kPlain, 100000, 0));
  EXPECT_TRUE(record.MayTry(kPlain, 110000, 0));
}

TEST(CodeTrial, WhatSendingDataTakesIsNoVerdictOnAContender) {
  CodeTrial trial(Contenders({kPlain, kLeases}), 2, 100, 8);
  for (int n = 0; !trial.over() && n < 1000; ++n) {
    const bool leases = trial.running() == kLeases;
    const bool sends = leases && n < 8;
    trial.Step(sends ? 50 : leases ? 0.5 : 1, !sends);
  }
  EXPECT_TRUE(trial.over());
  EXPECT_EQ(trial.winner().candidate, kLeases);
  EXPECT_EQ(trial.lost(), 0);
}

TEST(CodeTrial, DataThatTakeAsLongAsForeseenAreWaitedFor) {
  for (const double foreseen : {100.0, 10.0}) {
    std::vector<Contender> contenders = Contenders({kPlain, kLeases});
    contenders[1].moving = foreseen;
    CodeTrial trial(std::move(contenders), 2, 1000, 1000);
    int sent = 0;
    for (int n = 0; !trial.over() && n < 1000; ++n) {
      const bool leases = trial.running() == kLeases;
      const bool sends = leases && sent < 100;
      if (sends) ++sent;
      trial.Step(sends ? 2.5 : leases ? 0.5 : 1, !sends);
    }
    const bool right = foreseen > 75;  // Of 150 that are lost.
    EXPECT_EQ(trial.winner().candidate, right ? kLeases : kPlain) << foreseen;
    EXPECT_EQ(sent == 100, right) << foreseen;
  }
}

// Of steps of which every fifth takes `slow` times as long; returns how many the trial took.
int StepsUntilLeasesWin(double plain_foreseen, double plain_usual, double slow) {
  int steps = 0, right = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed, Stream::kTest);
    std::vector<Contender> contenders = Contenders({kPlain, kLeases});
    contenders[0].foreseen = plain_foreseen;
    contenders[1].foreseen = 1;
    CodeTrial trial(std::move(contenders), 6, 1000, 1000);
    for (const auto& [scheme, count] : RunAll(trial, [&](const Candidate&candidate, int) {
           return candidate == kLeases ? 1 : plain_usual * (random.Chance(0.2) ? slow : 1);
         })) {
      steps += count;
    }
    right += trial.winner().candidate == kLeases ? 1 : 0;
  }
  EXPECT_GE(right, 45);
  return steps;
}

TEST(CodeTrial, WhatWasForeseenNeedsLessProof) {
  EXPECT_LT(1.5 * StepsUntilLeasesWin(1.5, 0.95, 4.8), StepsUntilLeasesWin(0.9, 0.95, 4.8));
}

TEST(CodeTrial, WhoIsNeverBetterAndSometimesSlowIsSoonOut) {
  const int steps = StepsUntilLeasesWin(1.05, 1, 4.5);
  EXPECT_LT(2 * steps, StepsUntilLeasesWin(1.05, 0.95, 4.8)) << "it is better at times";
  EXPECT_LT(steps, StepsUntilLeasesWin(0.95, 1, 4.5)) << "it was promised to be better";
}

}  // namespace
}  // namespace motley
