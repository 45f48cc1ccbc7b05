// SPDX-License-Identifier: Apache-2.0
#include "scheduler/rows/send_grants.h"

#include <algorithm>
#include <utility>

#include "coding/schemes.h"

namespace motley {
namespace {

constexpr uint32_t kLeastSteps = 8;     // Fewer steps show too little of the link.
constexpr double kLeastSeconds = 0.01;  // What grants have to save in a step,
constexpr double kLeastRounds = 3;      // and also in round trips.
constexpr size_t kRounds = 16;          // The last round trips that count,
constexpr size_t kSends = 32;           // and the last answers.
constexpr size_t kEnough = 8;           // Fewer of either show too little.
// After round trips that took too long, answers wait again after 2^7 steps, and after twice as many
// each time.
constexpr uint32_t kFirstRest = 7, kMostRests = 12;
// Limits for answers that are sent. Little is known of the first ones.
constexpr double kColdFactor = 4;
constexpr double kColdSeconds = 1;
constexpr double kDeviations = 6;  // As in DeadlineModel.
constexpr double kLimitFactor = 1.5;
constexpr double kLimitSeconds = 0.05;
constexpr double kReserve = 2;  // The spare time is at least this many times that of computing.
constexpr double kSlowLink = 1.5;
// A vector alone takes this part of the way from the time of one answer on the server's link to
// that of all that are needed. Above it, the worker's own link is the thin one.
constexpr double kOwnLink = 0.75;
constexpr uint32_t kMostMissed = 10;  // A worker rests for at most 2^10 steps.
constexpr Duration kVerdictPatience = std::chrono::milliseconds(50);

}  // namespace

bool AnswersMayWait(const SchedulerOptions& options) {
  const Scheme& scheme = SchemeNamed(options.code);
  return scheme.plain_rows() && scheme.keeps_copies && !options.sync.one_each;
}

RoundTrips::RoundTrips() : seconds_(kRounds) {}

bool RoundTrips::AreShortFor(double saved, uint32_t step) {
  if (step < again_) return false;
  if (seconds_.count() < kEnough) return true;
  if (saved >= kLeastRounds * seconds_.Limit(0)) {
    rests_ = 0;
    return true;
  }
  again_ = step + (1u << (kFirstRest + rests_));
  rests_ = std::min(rests_ + 1, kMostRests - kFirstRest);
  seconds_ = RobustWindow(kRounds);
  return false;
}

void LackingRows::Open(const std::shared_ptr<const CodeForm>& code) {
  complete_.clear();
  if (!code_ || code_->form() != code) code_.emplace(code);
}

// More rows than those that decode do so, too.
size_t LackingRows::Besides(const std::vector<bool>& there) {
  bool known = complete_.size() == there.size();
  for (RowId row = 0; known && row < there.size(); ++row) known = !complete_[row] || there[row];
  if (known) return 0;
  std::vector<bool> absent = there;
  absent.flip();
  const size_t lacking = code_->RowsFor(absent).size();
  if (lacking == 0) complete_ = there;
  return lacking;
}

SendGrants::SendGrants(JobState& job, RowBook& book) : job_(job), book_(book), sends_(kSends) {}

SendGrants::Seat& SendGrants::SeatOf(WorkerId worker) {
  seats_.resize(std::max<size_t>(seats_.size(), worker + 1));
  return seats_[worker];
}

// --- The choice ---

void SendGrants::Open(const Plan& plan, StepId step) {
  ++steps_;
  step_ = step;
  verdict_due_ = kNever;
  reserve_.clear();
  waiting_ = WorthIt(plan);
  if (!waiting_) return;
  const bool links = job_.transfers.link().KnowsLinks();
  for (WorkerId id = 0; id < job_.members.size(); ++id) SeatOf(id).slow = links && !LinkIsFast(id);
  const size_t members = plan.members.size();
  for (size_t i = 0; i < answers_.rows - answers_.needed && ComputesShortly(plan); ++i) {
    reserve_.push_back(plan.members[(step * (answers_.rows - answers_.needed) + i) % members]);
  }
  lacking_.Open(plan.code);
  if (std::exchange(announced_, true)) return;
  job_.Say(notice::SendsInTurn{answers_.needed, answers_.rows, FromSeconds(answers_.each_seconds)});
}

// Each answer that is not needed takes the link for `each_seconds`. A worker whose own link is slow
// takes little of it.
bool SendGrants::WorthIt(const Plan& plan) {
  const CodeForm& code = *plan.code;
  if (!AnswersMayWait(job_.options) || code.stragglers == 0) return false;
  const VectorWatch& link = job_.transfers.link();
  answers_ = {};
  for (const auto& row : code.rows) answers_.rows += row.empty() ? 0 : 1;
  answers_.needed = answers_.rows - std::min(code.stragglers, answers_.rows - 1);
  answers_.each_seconds = link.message_seconds();
  answers_.needed_seconds = answers_.needed * answers_.each_seconds;
  if (job_.options.grant_sends) return *job_.options.grant_sends;
  if (!link.KnowsLinks() || steps_ <= kLeastSteps) return false;
  uint32_t fast = 0;
  for (const WorkerId member : plan.members) {
    fast += !plan.RowsOf(member).empty() && LinkIsFast(member) ? 1 : 0;
  }
  const double saved =
      fast > answers_.needed ? (fast - answers_.needed) * answers_.each_seconds : 0;
  const double gain = waiting_ ? 2 * saved : saved;  // The choice does not swing.
  return gain >= kLeastSeconds && rounds_.AreShortFor(gain, steps_);
}

// A worker in reserve gets parameters while the others send. If it is needed, it must be ready
// before these have all sent.
bool SendGrants::ComputesShortly(const Plan& plan) const {
  if (job_.options.keep_reserve) return *job_.options.keep_reserve;
  const double spare = (2.0 * answers_.needed - answers_.rows) * answers_.each_seconds;
  for (size_t i = 0; i < plan.members.size(); ++i) {
    const double speed = job_.members[plan.members[i]].speed();
    const double samples = static_cast<double>(plan.LoadOf(i)) * job_.samples_per_partition();
    if (speed <= 0 || kReserve * samples > spare * speed) return false;
  }
  return true;
}

bool SendGrants::InReserve(WorkerId worker) const {
  return std::find(reserve_.begin(), reserve_.end(), worker) != reserve_.end();
}

// If the server's link is the thin one, a vector alone takes as long as it occupies that link. If
// the workers' links are, it takes as long as all that are needed. The limit is near the
// latter, because a probe is short and TCP begins slowly. While answers wait, they share the link
// with fewer others, and only a link that is much slower counts.
bool SendGrants::LinkIsFast(WorkerId worker) const {
  const double alone = job_.transfers.link().SendSeconds(worker) + answers_.each_seconds;
  if (waiting_) return alone <= kSlowLink * answers_.needed_seconds;
  const double others = answers_.needed_seconds - answers_.each_seconds;
  return alone <= answers_.each_seconds + kOwnLink * others;
}

// --- What workers do ---

void SendGrants::Asked(WorkerId worker, RowId row) { book_.Hold(worker, row, job_.now); }

void SendGrants::Arrived(WorkerId worker, RowId row) {
  const Assignment* const done = book_.Find(worker, row);
  if (done == nullptr || done->sending != Sending::kGranted) return;
  sends_.Add(ToSeconds(job_.now - done->granted));
  if (Late(*done)) return Missed(worker);
  SeatOf(worker).missed /= 2;
}

void SendGrants::Missed(WorkerId worker) {
  Seat& seat = SeatOf(worker);
  seat.missed = std::min(seat.missed + 1, kMostMissed);
  seat.rests_until = step_ + (StepId{1} << seat.missed);
}

void SendGrants::End() {
  if (!waiting_) return;
  for (const Assignment& each : book_.pending()) {
    if (each.sending == Sending::kHeld) {
      SeatOf(each.worker).dismissed = job_.now;
      ++job_.totals.answers_held;
    } else if (each.sending == Sending::kGranted && Late(each)) {
      Missed(each.worker);
    }
  }
}

void SendGrants::Freed(WorkerId worker) {
  if (worker >= seats_.size()) return;
  const Time dismissed = std::exchange(seats_[worker].dismissed, Time{});
  if (dismissed != Time{}) rounds_.Add(job_.now - dismissed);
}

void SendGrants::Gone(WorkerId worker) {
  if (worker < seats_.size()) seats_[worker].dismissed = Time{};
}

// --- Grants ---

// The worker's own link is not too slow, and it was not late with grants.
bool SendGrants::ReliedUpon(WorkerId worker) const {
  if (worker >= seats_.size()) return true;
  return step_ >= seats_[worker].rests_until && !seats_[worker].slow;
}

std::vector<bool> SendGrants::There() const {
  std::vector<bool> there(book_.rows());
  for (RowId row = 0; row < there.size(); ++row) there[row] = book_.Arrived(row);
  for (const Assignment& each : book_.pending()) {
    if (each.sending != Sending::kGranted || Late(each)) continue;
    there[each.row] = there[each.row] || ReliedUpon(each.worker);
  }
  return there;
}

// In the order in which the workers asked.
std::vector<SendGrants::Held> SendGrants::HeldRows() const {
  std::vector<const Assignment*> found;
  for (const Assignment& each : book_.pending()) {
    if (each.sending == Sending::kHeld) found.push_back(&each);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto* a, const auto* b) { return a->asked < b->asked; });
  std::vector<Held> held;
  for (const Assignment* each : found) held.push_back({each->worker, each->row});
  return held;
}

void SendGrants::Give(bool all) {
  if (!waiting_) return;
  std::vector<Held> held = HeldRows();
  if (held.empty() || all) {
    for (const Held& each : held) Grant(each);
    verdict_due_ = kNever;
  } else {
    GiveNeeded(held, There());
  }
}

void SendGrants::GiveNeeded(const std::vector<Held>& held, std::vector<bool> there) {
  size_t lacking = lacking_.Besides(there);
  std::vector<Held> rest;
  for (const Held& each : held) {
    if (!ReliedUpon(each.worker)) {
      Grant(each);
      continue;
    }
    there[each.row] = true;
    const size_t left = lacking > 0 ? lacking_.Besides(there) : 0;
    if (left < lacking) {
      Grant(each);
      lacking = left;
    } else {
      there[each.row] = false;
      rest.push_back(each);
    }
  }
  if (lacking == 0) return AwaitVerdict(rest, there);
  // Together they may do what none of them does alone. Those that asked last are left out first.
  for (const Held& each : rest) there[each.row] = true;
  if (lacking_.Besides(there) > 0) return;
  for (auto each = rest.rbegin(); each != rest.rend(); ++each) {
    there[each->row] = false;
    if (lacking_.Besides(there) == 0) continue;
    there[each->row] = true;
    Grant(*each);
  }
}

// Rounding may be too large for the rows that should be enough. More rows then make it smaller.
void SendGrants::AwaitVerdict(const std::vector<Held>& held, const std::vector<bool>& there) {
  bool all_came = true;
  for (RowId row = 0; row < there.size(); ++row) all_came &= !there[row] || book_.Arrived(row);
  if (!all_came) {
    verdict_due_ = kNever;
  } else if (verdict_due_ == kNever) {
    verdict_due_ = job_.now + kVerdictPatience;
  } else if (job_.now >= verdict_due_) {
    for (const Held& each : held) Grant(each);
    verdict_due_ = kNever;
  }
}

// How long a granted answer takes at most.
Duration SendGrants::SendLimit() const {
  const double expected = answers_.needed_seconds;
  if (sends_.count() < kEnough) {
    return FromSeconds(std::max(kColdFactor * expected, kColdSeconds));
  }
  const double usual = std::max(sends_.Limit(0), expected);
  return FromSeconds(std::max(sends_.Limit(kDeviations), kLimitFactor * usual + kLimitSeconds));
}

void SendGrants::Grant(const Held& held) {
  const Assignment& answer = *book_.Find(held.worker, held.row);
  job_.totals.held_answers_sent += answer.asked < job_.now ? 1 : 0;
  book_.Grant(held.worker, held.row, job_.now, job_.now + SendLimit());
  job_.Do(SendRow{held.worker, step_, held.row});
}

Time SendGrants::Due() const {
  if (!waiting_) return kNever;
  Time due = verdict_due_;
  for (const Assignment& each : book_.pending()) {
    if (each.sending == Sending::kGranted && !Late(each)) due = std::min(due, each.send_due);
  }
  return due;
}

}  // namespace motley
