// SPDX-License-Identifier: Apache-2.0
// Decides which answers travel first where all of them share a thin link. A code needs only some of
// its answers, and those that it does not need take a part of the link. If the measured link says
// that this part is worth a round trip, each worker asks before its answer leaves. The first that
// together decode the step get a grant. The others are held, and are cancelled when the step ends.
//
// Where computing is short, some workers also begin later than others (InReserve).
//
// A held answer gets a grant as soon as the granted ones are not enough: a worker is gone, an
// answer was refused, or it has not come in the time that sending usually takes. A worker whose own
// link is slow, or that was late with a grant, gets grants but is not relied upon. Pure.
//
//   any 3 of 5 rows decode     ready: 4, 0, 2      all three get a grant
//                              ready: 1, 3         held
//   the answer to row 0 is late                    row 1 gets a grant
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "coding/decode/replacement.h"
#include "scheduler/job_state.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/placement/plan.h"
#include "scheduler/rows/row_book.h"

namespace motley {

// True if such a job, with rows of one answer each, may let these wait where the link is thin.
bool AnswersMayWait(const SchedulerOptions& options);

// The time of round trips, as held answers show it when they are cancelled. Where it is too long,
// answers do not wait for a while, and then wait again to show it anew.
class RoundTrips {
 public:
  RoundTrips();

  void Add(Duration took) { seconds_.Add(ToSeconds(took)); }
  // True if answers may wait in the job's step of this number, where that saves so many seconds.
  bool AreShortFor(double saved, uint32_t step);

 private:
  RobustWindow seconds_;
  uint32_t again_ = 0;  // Answers do not wait before this step.
  uint32_t rests_ = 0;  // How often in a row round trips were too long.
};

// How many rows the open step lacks. Rows that decode are remembered, because the code takes long
// to say so.
class LackingRows {
 public:
  void Open(const std::shared_ptr<const CodeForm>& code);
  size_t Besides(const std::vector<bool>& there);

 private:
  std::optional<Replacement> code_;
  std::vector<bool> complete_;  // Empty: no rows that decode are known.
};

class SendGrants {
 public:
  // Both must outlive it. It grants the sends of rows in the book.
  SendGrants(JobState& job, RowBook& book);

  // A step over `plan` begins, or begins again. Decides whether its answers wait for grants, and
  // says so to the user the first time.
  void Open(const Plan& plan, StepId step);
  bool waiting() const { return waiting_; }  // Answers to the open step wait.
  // Parameters share the link as well. Where computing is short, s workers get theirs, and their
  // rows, only when another worker asks for a grant, or is late or gone. They are other ones in
  // each step. True if this worker is one of them and its row must wait.
  bool InReserve(WorkerId worker) const;
  // From now on the open step has no reserve. Returns true if it had one.
  bool CallReserve() { return !std::exchange(reserve_, {}).empty(); }

  // The worker asks for a grant. Give follows.
  void Asked(WorkerId worker, RowId row);
  // The answer came; the book still has the worker's assignment, if it had one.
  void Arrived(WorkerId worker, RowId row);
  // Gives grants to held answers that are needed now. `all`: to all of them, since their workers
  // are needed for other rows.
  void Give(bool all);
  // The step has ended or begins again; the work in the book is about to be taken back.
  void End();
  // The worker ended its work. A held answer that was cancelled shows what a round trip takes.
  void Freed(WorkerId worker);
  void Gone(WorkerId worker);

  Time Due() const;  // When Give may do more with time alone, or kNever.

 private:
  struct Held {
    WorkerId worker;
    RowId row;
  };
  struct Seat {
    Time dismissed{};        // When its held answer was cancelled; zero: it ended since then.
    uint32_t missed = 0;     // One more for a late answer, half for one in time. Doubles its rest.
    StepId rests_until = 0;  // It is not relied upon before this step.
    bool slow = false;       // Its own link is too slow for the open step.
  };

  Seat& SeatOf(WorkerId worker);
  bool WorthIt(const Plan& plan);
  bool ComputesShortly(const Plan& plan) const;
  bool LinkIsFast(WorkerId worker) const;
  bool ReliedUpon(WorkerId worker) const;
  std::vector<bool> There() const;
  std::vector<Held> HeldRows() const;
  // The granted answer did not come in the time that sending takes.
  bool Late(const Assignment& granted) const { return granted.send_due <= job_.now; }
  void Missed(WorkerId worker);
  Duration SendLimit() const;
  void Grant(const Held& held);
  void GiveNeeded(const std::vector<Held>& held, std::vector<bool> there);
  void AwaitVerdict(const std::vector<Held>& held, const std::vector<bool>& there);

  JobState& job_;
  RowBook& book_;
  LackingRows lacking_;  // Knows the open step, if its answers wait.
  bool waiting_ = false;
  bool announced_ = false;  // The user knows.
  StepId step_ = 0;
  uint32_t steps_ = 0;  // Steps that opened.
  struct {
    uint32_t rows = 0, needed = 0;
    double each_seconds = 0;    // The time of an answer on the server's link.
    double needed_seconds = 0;  // The time of those that are needed.
  } answers_;                   // The answers to the open step.
  std::vector<WorkerId> reserve_;
  Time verdict_due_ = kNever;  // All granted answers came; the step should decode by then.
  RobustWindow sends_;         // Seconds from a grant to the answer.
  RoundTrips rounds_;
  std::vector<Seat> seats_;  // By worker.
};

}  // namespace motley
