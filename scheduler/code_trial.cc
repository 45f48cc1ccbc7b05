// SPDX-License-Identifier: Apache-2.0
#include "scheduler/code_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

constexpr uint32_t kSettling = 1;  // Steps of a turn that show what was before.
// While data are sent, so many do not count, and more only as long as no more is lost than so many
// steps and so many times what was foreseen.
constexpr double kMostSettling = 8, kFarMoreMoving = 2;
constexpr uint32_t kFirstTurn = 4;  // Steps that count; twice as many in each later turn.
constexpr double kFarLonger = 2;    // Than a turn of the best takes: it is stopped.
constexpr double kSeenOften = 3;    // Times: then nothing is left to the model.
constexpr size_t kFewest = 2;       // Steps of each that two are told apart by.
constexpr double kSure = 2.5;       // Standard errors between two that are told apart.
// The same, where the better one was foreseen to be, by so much: that needs less proof.
constexpr double kSureAsForeseen = 1, kForeseen = 0.9;
// Where after so many steps only slow ones tell them apart, one of these is enough.
constexpr size_t kManySteps = 8;
constexpr double kSureOfSlow = 0.9;
constexpr double kAsMuch = 0.03;  // Of a step: not worth to be told apart.

double Error(const Contender& a, const Contender& b) {
  return std::hypot(a.times.Error(), b.times.Error());
}

// By which they may differ by chance.
double Noise(const Contender& a, const Contender& b) { return kSure * Error(a, b); }

// Delays only ever add to a step: one whose usual steps are no shorter is hardly better than it
// looks, and little is lost without it. Unless it was foreseen to be the better one.
bool OnlySlowStepsDiffer(const Contender& best, const Contender& other) {
  const bool promised = other.foreseen > 0 && other.foreseen < best.foreseen;
  return !promised && std::min(best.times.count(), other.times.count()) >= kManySteps &&
         other.times.Median() > (1 - kAsMuch) * best.times.Median();
}

bool IsWorse(const Contender& other, const Contender& best) {
  const double more = other.Score() - best.Score(), much = kAsMuch * best.Score();
  if (OnlySlowStepsDiffer(best, other)) {
    return more > std::max(much, kSureOfSlow * Error(best, other));
  }
  const bool as_foreseen = best.foreseen > 0 && best.foreseen < kForeseen * other.foreseen;
  return more > much + (as_foreseen ? kSureAsForeseen * Error(best, other) : Noise(best, other));
}

}  // namespace

double Contender::Score() const {
  const double seen = static_cast<double>(times.count()) * often;
  return times.Mean() * (1 + insured * std::max(0.0, 1 - seen / kSeenOften));
}

CodeTrial::CodeTrial(std::vector<Contender> contenders, uint32_t most_turns, uint64_t most_steps,
                     double most_lost)
    : contenders_(std::move(contenders)),
      most_turns_(most_turns),
      steps_left_(most_steps),
      most_lost_(most_lost) {
  MOTLEY_ASSERT(!contenders_.empty() && most_turns > 0);
  for (const Contender& one : contenders_) measured_.push_back(one.times.count() >= kFewest);
  if (measured_.front()) Next();
  if (contenders_.size() == 1) over_ = true;
}

const Candidate& CodeTrial::running() const {
  return over_ ? winner().candidate : contenders_[now_].candidate;
}

void CodeTrial::Step(double seconds, bool counts) {
  if (over_) return;
  steps_left_ -= std::min<uint64_t>(1, steps_left_);
  // What sending data takes was weighed before, and comes once.
  if (!counts && MayWait()) {
    waited_ += 1;
    waited_seconds_ += seconds;
    return;
  }
  turn_seconds_ += seconds;
  if (now_ > 0) {
    others_seconds_ += seconds;
    others_steps_ += 1;
  }
  if (settling_ < kSettling) {
    ++settling_;
  } else {
    contenders_[now_].times.Add(seconds);
    ++counted_;
  }
  if (counted_ >= kFirstTurn << turn_ || turn_seconds_ > most_seconds_) EndTurn();
}

bool CodeTrial::MayWait() const {
  if (waited_ < kMostSettling) return true;
  const double usual = contenders_[Best()].times.Mean();
  if (usual == 0 || steps_left_ == 0) return false;
  const double lost = waited_seconds_ - waited_ * usual;
  return lost < kMostSettling * usual + kFarMoreMoving * contenders_[now_].moving;
}

void CodeTrial::Refuse() {
  if (over_) return;
  contenders_[now_].out = contenders_[now_].refused = true;
  EndTurn();
}

void CodeTrial::EndTurn() {
  if (counted_ < kFirstTurn && now_ != Best()) contenders_[now_].out = true;  // Stopped.
  Judge();
  Next();
}

void CodeTrial::Judge() {
  const Contender& best = contenders_[Best()];
  for (Contender& other : contenders_) {
    if (std::min(other.times.count(), best.times.count()) < kFewest) continue;
    if (other.times.Mean() < best.times.Mean() && IsSoonSeen(other)) continue;
    if (IsWorse(other, best)) other.out = true;
  }
}

// What it is insured against and did not show yet will be known after one more turn.
bool CodeTrial::IsSoonSeen(const Contender& one) const {
  const auto seen = static_cast<double>(one.times.count());
  const double soon = seen + (kFirstTurn << (turn_ + 1));
  return seen * one.often < kSeenOften && soon * one.often >= kSeenOften;
}

void CodeTrial::Next() {
  const auto left = std::count_if(contenders_.begin(), contenders_.end(),
                                  [](const Contender& one) { return !one.out; });
  bool round = false;  // Everybody had this turn.
  do {
    if (++now_ < contenders_.size()) continue;
    now_ = 0;
    ++turn_;
    round = true;
  } while (left > 0 && HasNoTurn(now_));
  over_ = left <= 1 || turn_ >= most_turns_ || steps_left_ == 0 || lost() > most_lost_ ||
          (round && AllAreAlike());
  if (!over_) Begin();
}

bool CodeTrial::HasNoTurn(size_t contender) const {
  return contenders_[contender].out || (turn_ == 0 && measured_[contender]);
}

void CodeTrial::Begin() {
  settling_ = counted_ = 0;
  waited_ = waited_seconds_ = turn_seconds_ = 0;
  most_seconds_ = kNoLimit;
  const size_t best = Best();
  if (best == now_ || contenders_[best].times.count() == 0) return;
  const uint32_t steps = kSettling + (kFirstTurn << turn_);
  most_seconds_ = kFarLonger * steps * contenders_[best].times.Mean();
}

// And known well enough to say so.
bool CodeTrial::AllAreAlike() const {
  const Contender& best = contenders_[Best()];
  const double much = kAsMuch * best.Score();
  return std::all_of(contenders_.begin(), contenders_.end(), [&](const Contender& one) {
    return one.out || (one.Score() < best.Score() + much && Noise(one, best) < much);
  });
}

// The lowest score of those that were measured and are not out; if there is none, the first that is
// not out.
size_t CodeTrial::Best() const {
  const auto before = [](const Contender& a, const Contender& b) {
    if (a.out || b.out) return !a.out && b.out;
    const bool known = a.times.count() > 0;
    if (known != (b.times.count() > 0)) return known;
    return known && a.Score() < b.Score();
  };
  const auto best = std::min_element(contenders_.begin(), contenders_.end(), before);
  return static_cast<size_t>(best - contenders_.begin());
}

double CodeTrial::lost() const {
  const double first = contenders_.front().times.Mean();
  return first > 0 ? std::max(0.0, others_seconds_ / first - others_steps_) : 0;
}

// Of those that are as good as the best, the one with the fewest copies; of these the first.
const Contender& CodeTrial::winner() const {
  size_t winner = Best();
  const Contender& home = contenders_.front();
  const double gain = home.Score() - contenders_[winner].Score();
  const bool by_chance = gain < Error(home, contenders_[winner]);
  if (!home.out && home.times.count() > 0 && by_chance) winner = 0;
  const double enough = (1 + kAsMuch) * contenders_[winner].Score();
  for (size_t i = contenders_.size(); i-- > 0;) {
    const Contender& other = contenders_[i];
    if (other.out || other.times.count() == 0 || other.Score() > enough) continue;
    const uint32_t copies = contenders_[winner].candidate.copies;
    const bool fewer = other.candidate.copies < copies;
    if (fewer || (other.candidate.copies == copies && i < winner)) winner = i;
  }
  return contenders_[winner];
}

}  // namespace motley
