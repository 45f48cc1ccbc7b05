// SPDX-License-Identifier: Apache-2.0
// The server's record of a step's answers, so that an audit can find false ones afterwards: a
// sketch of each slice (8 bytes), and the tallies. In a step that will be audited, the sketches
// have signs that no worker knows. In other steps they are the sketches that the answers declared.
//
// Copies of a row come in many steps, early or late: from workers with equal rows, or from one that
// was given up too soon. Equal rows have equal sketches, so the log compares their declared
// sketches.
//
// If other nodes own the shards, each of them logs the slices that it gets, in every step and with
// signs of its own (runtime/holders/audit_reader.h). The coordinator's log then has the form of a
// step and no slices. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/tally.h"
#include "coding/code_form.h"
#include "coding/kernels/sketch.h"
#include "runtime/links/slicing.h"
#include "transport/wire/header.h"

namespace motley {

// The part of an answer that one node logged.
struct LoggedAnswer {
  WorkerId worker = 0;
  uint32_t life = 0;  // AnswerLog::LifeOf the worker at that time.
  RowId row = 0;      // A row of StepAnswers::form.
  // By slice, from the first one of `shard` on; NaN: the slice did not come from this worker.
  std::vector<double> sketches;
  Tally tally;
  uint32_t shard = 0;  // The shard of the slices if other nodes own the shards, and otherwise 0.
};

// A shard that another node owns, and what that node reports of it.
struct OwnedShard {
  WorkerId owner = 0;
  bool trusted = false;  // The owner is a shard server.
  uint64_t signs = 0;    // The seed of SignsAt for the sketches that it logged.
  double sum = 0;        // The sketch of the decoded sum, with the signs at SumSigns().
};

struct StepAnswers {
  StepId step = 0;
  uint64_t signs = 0;     // The seed of SignsAt for the logged sketches.
  uint64_t declared = 0;  // The seed of SignsAt for the sketches in headers.
  Slicing cut;            // How an answer is cut into slices.
  // The ends of the shards' ranges of a whole vector; empty: it is one range.
  std::vector<size_t> ends;
  // With leases the form has a row for each vector, with coefficients of 1.
  std::shared_ptr<const CodeForm> form;
  std::vector<LoggedAnswer> answers;
  std::vector<uint32_t> lives;     // By worker: LifeOf when the step began.
  std::vector<OwnedShard> shards;  // Empty: the server has logged all answers itself.

  // The seed for the sketches of this shard's slices.
  uint64_t SignsOf(size_t shard) const { return shards.empty() ? signs : shards[shard].signs; }
};

// The signs of the sketch of a shard's sum, which begins at this place of the vector. No slice has
// the same signs, because ranges and slices begin at even places.
SignKey SumSigns(uint64_t seed, StepId step, size_t begin);

// A slice of a copy that arrived after its step had ended, as its header declared it.
struct LateSlice {
  WorkerId worker = 0;
  RowId row = 0;
  size_t slice = 0;
  double declared = 0;
};

class AnswerLog {
 public:
  using Drawn = std::function<bool(StepId)>;

  // `secret` is the seed of the signs that nobody else knows. `drawn` says if a step will be
  // audited.
  AnswerLog(uint32_t workers, uint32_t job, uint64_t secret, Drawn drawn);

  // A step starts, or starts again. The log forgets what it has of it.
  void Open(StepId step, std::shared_ptr<const CodeForm> form, const Slicing& cut,
            std::vector<size_t> ends);
  void OpenLeases(StepId step, uint32_t partitions, const Slicing& cut, std::vector<size_t> ends);

  // The seed of the signs that nobody else knows, for the steps that are opened from now on.
  void SetSecret(uint64_t secret) { secret_ = secret; }

  // The sketch to log for a slice that begins at `offset` of an answer.
  double Project(std::span<const float> values, size_t offset, double declared) const;
  // Project has to read the values.
  bool secret() const { return now_.signs != job_; }
  // A slice came in time. `claim` is what its header declared. `added`: the slice is in the
  // decoder's sums.
  void AddSlice(WorkerId worker, RowId row, size_t slice, double sketch, const Claim& claim,
                const Tally& tally, bool added);
  // A slice of this row, for the open step or the one before, came too late.
  void AddLate(WorkerId worker, RowId row, const Header& header);
  // A whole vector over leases counts.
  void AddVector(WorkerId worker, std::span<const PartitionId> partitions,
                 std::vector<double> sketches, const Tally& tally);

  void Forget(WorkerId worker) { ++lives_[worker]; }  // The worker is gone.
  uint32_t LifeOf(WorkerId worker) const { return lives_[worker]; }

  StepId step() const { return open_.step; }  // The step of the last Open.
  // The log keeps the answers of this step: it was opened last, and they were not taken.
  bool Keeps(StepId step) const { return now_.form != nullptr && now_.step == step; }
  bool drawn() const { return open_is_drawn_; }  // The open step will be audited.
  // One worker has sent all that counts so far, and others were to answer as well.
  bool OneAnswered() const;
  // Copies of a row of the open step differ.
  bool copies_differ() const;
  // True once after late copies differed.
  bool TakeLateDifference() { return std::exchange(late_differ_, false); }

  // What was logged of the open step.
  std::span<const LoggedAnswer> answers() const { return now_.answers; }
  const Slicing& cut() const { return now_.cut; }
  // The worker that answered was there when the open step began.
  bool WasThere(const LoggedAnswer& answer) const {
    return answer.life == now_.lives[answer.worker];
  }

  // Takes the open step's answers for an audit. The log keeps late copies of this step from now on.
  StepAnswers Take();
  std::span<const LateSlice> late() const { return late_; }

 private:
  // The added slices of a row. Their norms are known to be right; those of other slices are only
  // declared.
  struct Copy {
    std::vector<WorkerId> workers;  // The sender of each slice.
    std::vector<double> declared;   // The declared sketch of each slice; NaN if none has come.
    double squares = 0;             // The sum of the squared norms of these slices.
    double gap = 0;                 // The largest gap to a copy that came in time.

    // The gap between another copy's slice and this one; 0 if no other worker sent this slice.
    double Gap(WorkerId worker, size_t slice, double other) const;
    // Compares with the norm of the whole copy: a slice may be small, but its rounding is not.
    bool FarApart(double difference) const;
  };
  struct Copies {
    StepId step = 0;
    Slicing cut;
    std::vector<RowId> first;  // For each row, the first one that is equal to it.
    std::vector<Copy> by_row;  // The copies of these first rows.
  };

  void Begin(StepId step, const Slicing& cut);
  LoggedAnswer& Find(WorkerId worker, RowId row);

  const uint32_t job_;
  uint64_t secret_;
  const Drawn drawn_;
  std::vector<uint32_t> lives_;
  StepAnswers now_;
  std::shared_ptr<CodeForm> leases_;              // now_.form, if it grows.
  std::unordered_map<uint64_t, size_t> answers_;  // Places in now_, by worker and row.
  std::shared_ptr<const CodeForm> grouped_;       // The form whose equal rows are in first_.
  std::vector<RowId> first_;
  Copies open_;
  Copies before_;
  bool open_is_drawn_ = false;
  bool late_differ_ = false;
  StepId taken_ = 0;
  std::vector<LateSlice> late_;  // Late slices of step taken_.
};

}  // namespace motley
