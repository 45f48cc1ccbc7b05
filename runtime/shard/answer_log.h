// SPDX-License-Identifier: Apache-2.0
// What the server keeps of the answers to a step, so that somebody can tell afterwards which of
// them were not what they claim to be: a sketch of each slice (8 bytes), and the tallies. Of a step
// that will be audited, the sketches have signs that no worker knows; of the others, they are those
// that the answers declared.
//
// Copies of a row come in many steps, early or late: from workers with equal rows, or from one that
// was given up too soon. Their declared sketches are compared here, since equal rows have equal
// sketches. Loop thread only.
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

struct LoggedAnswer {
  WorkerId worker = 0;
  uint32_t life = 0;             // AnswerLog::LifeOf its worker then.
  RowId row = 0;                 // Of StepAnswers::form.
  std::vector<double> sketches;  // By slice; NaN: the slice did not come from this worker.
  Tally tally;
};

struct StepAnswers {
  StepId step = 0;
  uint64_t signs = 0;     // The seed of SignsAt for the sketches below.
  uint64_t declared = 0;  // The seed of SignsAt for the sketches in headers.
  Slicing cut;            // How an answer is cut into slices.
  // With leases it has a row for each vector, with coefficients of 1.
  std::shared_ptr<const CodeForm> form;
  std::vector<LoggedAnswer> answers;
};

// A slice of a copy that came too late for the step that was taken, as its header declared it.
struct LateSlice {
  WorkerId worker = 0;
  RowId row = 0;
  size_t slice = 0;
  double declared = 0;
};

class AnswerLog {
 public:
  using Drawn = std::function<bool(StepId)>;

  // `secret`: seed of the signs that nobody else knows. `drawn`: whether a step will be audited.
  AnswerLog(uint32_t workers, uint32_t job, uint64_t secret, Drawn drawn);

  // A step starts, or starts again: what was logged of it is forgotten.
  void Open(StepId step, std::shared_ptr<const CodeForm> form, const Slicing& cut);
  void OpenLeases(StepId step, uint32_t partitions, const Slicing& cut);

  // The sketch to log of a slice that begins at `offset` of an answer.
  double Project(std::span<const float> values, size_t offset, double declared) const;
  // Whether Project has to look at the values.
  bool secret() const { return now_.signs != job_; }
  // A slice came in time. `claim`: what its header declared. `added`: it is in the decoder's sums.
  void AddSlice(WorkerId worker, RowId row, size_t slice, double sketch, const Claim& claim,
                const Tally& tally, bool added);
  // A slice of this row, for the step that is open or for the one before it, came too late.
  void AddLate(WorkerId worker, RowId row, const Header& header);
  // A whole vector over leases counts.
  void AddVector(WorkerId worker, std::span<const PartitionId> partitions,
                 std::vector<double> sketches, const Tally& tally);

  void Forget(WorkerId worker) { ++lives_[worker]; }  // It is gone.
  uint32_t LifeOf(WorkerId worker) const { return lives_[worker]; }

  StepId step() const { return open_.step; }     // Of the last Open,
  bool drawn() const { return open_is_drawn_; }  // which will be audited.
  // One worker has sent all that counts so far, and others were to answer as well.
  bool OneAnswered() const;
  // Copies of a row of the open step differ.
  bool copies_differ() const;
  // Once for each time that a late copy differed.
  bool TakeLateDifference() { return std::exchange(late_differ_, false); }

  // For an audit of the open step, of which late copies are kept from now on.
  StepAnswers Take();
  std::span<const LateSlice> late() const { return late_; }

 private:
  // The slices of a row that were added, whose norms are known to be right. Those of others are
  // what their workers say.
  struct Copy {
    std::vector<WorkerId> workers;  // By slice, who sent it;
    std::vector<double> declared;   // NaN: nobody yet.
    double squares = 0;             // Of the norms of those slices.
    double gap = 0;                 // The largest to a copy that came in time.

    // How far another copy's slice is from this one; 0 where there is none of another worker.
    double Gap(WorkerId worker, size_t slice, double other) const;
    // Slices may be small beside their vector; what rounding does to them is not.
    bool FarApart(double difference) const;
  };
  struct Copies {
    StepId step = 0;
    uint64_t slice_length = 1;
    std::vector<RowId> first;  // By row, the first one that is equal to it.
    std::vector<Copy> by_row;  // Of those.
  };

  void Begin(StepId step, const Slicing& cut);
  LoggedAnswer& Find(WorkerId worker, RowId row);

  const uint32_t job_;
  const uint64_t secret_;
  const Drawn drawn_;
  std::vector<uint32_t> lives_;
  StepAnswers now_;
  std::shared_ptr<CodeForm> leases_;              // now_.form, where it grows.
  std::unordered_map<uint64_t, size_t> answers_;  // By worker and row, in now_.
  std::shared_ptr<const CodeForm> grouped_;       // Whose equal rows `first_` knows.
  std::vector<RowId> first_;
  Copies open_;
  Copies before_;
  bool open_is_drawn_ = false;
  bool late_differ_ = false;
  StepId taken_ = 0;
  std::vector<LateSlice> late_;  // Of that step.
};

}  // namespace motley
