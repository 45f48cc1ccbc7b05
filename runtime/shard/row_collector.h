// SPDX-License-Identifier: Apache-2.0
// Takes the slices of answers as they arrive, decides which count, and tells the scheduler when a
// row is complete and a step decodable. Everything about fencing is here: an answer counts only for
// the (job, incarnation, step, attempt, row) that it was assigned for. Loop thread only.
//
// Rows that workers keep (CodeForm::kept_parts) have arrived, from each of them, with a Pull that
// says so; nothing is decoded before the step is opened again with the code of the answers.
//
// A worker answers its assignments in order, and ends each with exactly one Pull that follows its
// slices on the wire. So the oldest open assignment of a worker tells what its next slice is about,
// also when a step was restarted and the same row means something else.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/aligned_memory.h"
#include "base/fifo.h"
#include "base/ids.h"
#include "coding/decode/stream_decoder.h"
#include "runtime/links/messages.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/answer_log.h"
#include "runtime/shard/batch_weight.h"
#include "scheduler/scheduler.h"
#include "transport/wire/control.h"
#include "transport/wire/header.h"

namespace motley {

class RowCollector {
 public:
  using Raise = std::function<void(Event)>;

  // `length` of the sum and `slice_length` in floats. `keep_rows`: as of DecodeLimits. `raise` may
  // call back into this object.
  RowCollector(uint32_t workers, size_t length, size_t slice_length, ParallelFor& parallel,
               Raise raise, bool keep_rows = false);
  ~RowCollector();

  // Before the first Open: where sums may live from Open to Close (length floats); Close into it
  // then needs no memory beside.
  void SetHome(std::span<float> home) { home_ = home; }

  // Before the first Open: who keeps sketches of what counts, and compares what comes late.
  // Borrowed.
  void SetLog(AnswerLog* log) { log_ = log; }

  // A step starts, or starts again: what was assigned before no longer counts. `counts`: what
  // answers must weigh; null: that is not known.
  void Open(StepId step, std::shared_ptr<const CodeForm> form, KnownCounts counts = nullptr);
  // Writes the sum of the open step, which then is closed: what still comes is late.
  Status Close(std::span<float> sum);
  const Tally& tally() const { return decoder_->tally(); }  // Of the last Close, of either kind.
  bool decodable() const { return open_ && decodable_; }
  // Instead of Close where the open step does not decode: the best sum of the whole rows that are
  // there. kNotDecodable when there are none. Only with `keep_rows`.
  Result<ApproximateDecoding> CloseApproximately(std::span<float> sum);

  // The open step goes on without rows: what still comes is late.
  void Abandon() { open_ = false; }

  // The worker was told to compute this row of the open step.
  void Assign(WorkerId worker, StepId step, RowId row);
  // The worker was told that its work for steps up to this one is not needed: it may end
  // unfinished.
  void Cancel(WorkerId worker, StepId step);
  void CancelRow(WorkerId worker, StepId step, RowId row);  // Only this one.
  // The worker is gone, and what it was sending with it.
  void Forget(WorkerId worker);

  // A slice is announced: makes room for it in `values`, or returns false to discard it. `fenced`:
  // the header is about another job or incarnation. A fault of the worker is returned, after it was
  // raised. The buffer is the connection's, which may outlast the worker's stay here.
  Result<bool> Begin(WorkerId worker, const Header& header, bool fenced, AlignedVector& values);
  // The slice of the last Begin is there; `values` may be swapped or emptied. kResource is our own
  // want of memory: no fault of the worker, and the step cannot go on.
  Status Finish(WorkerId worker, AlignedVector& values);
  // The worker ends an assignment. False when it had none like that. One that still counts and that
  // nobody cancelled is refused when slices are missing, or when the worker gave it up.
  bool End(WorkerId worker, const wire::PullT& pull);

  // Of the step that was opened last: the Assign that its worker is told.
  const Bytes& MessageOf(RowId row);
  double amplification() const;  // Of the last Close.

 private:
  struct Assignment {
    StepId step = 0;
    RowId row = 0;
    uint64_t attempt = 0;    // Of all Opens: another number, another code.
    std::vector<bool> seen;  // Slices that came.
    size_t seen_count = 0;
    std::optional<Tally> tally;  // Of the answer: none before its first slice.
    bool added = false;          // Something of it is in the sums.
    bool cancelled = false;
    bool settled = false;  // Arrived, late or refused: the scheduler knows.
  };
  struct Seat {
    Fifo<Assignment> assignments;
    size_t slice = 0;  // That is arriving.
    Claim claim;       // Of that header.
    bool receiving = false;
    StepId stale_step = 0;  // The last stranger's answer that was counted.
    RowId stale_row = 0;
    bool stale_counted = false;
  };

  bool Keeping() const { return form_->kept_parts > 0; }
  void OpenDecoder(const std::shared_ptr<const CodeForm>& form);
  Assignment* Current(WorkerId worker, const Header& header);
  bool Counts(const Assignment& assignment) const;
  void CountLate(WorkerId worker, const Header& header, Assignment* assignment);
  Event Late(WorkerId worker, const Assignment& assignment) const;
  Status Refuse(WorkerId worker, Assignment* assignment, Status why);
  Status CheckOneTally(Assignment& assignment, const Tally& tally) const;
  Status Misplaced(WorkerId worker, const Header& header);
  bool Damaged(const Claim& claim, std::span<const float> values) const;
  Status Add(WorkerId worker, AlignedVector& values, std::vector<Event>& events);
  void RaiseAll(std::vector<Event>& events);

  const size_t length_;  // Of the sum.
  Slicing cut_;          // Of answers to the open step.
  bool keep_rows_;
  std::span<float> home_;
  ParallelFor& parallel_;
  Raise raise_;
  std::vector<Seat> seats_;
  // Buffers of slices that were added. The last is taken first, being in the cache still: through
  // shared memory slices come one at a time.
  std::vector<AlignedVector> spare_;
  std::vector<Event> events_;  // Room for the next.
  std::shared_ptr<const CodeForm> form_;
  std::vector<Bytes> messages_;              // By row of form_; empty: not worked out yet.
  std::shared_ptr<const CodeForm> decoded_;  // The decoder's form.
  std::unique_ptr<StreamDecoder> decoder_;
  AnswerLog* log_ = nullptr;
  KnownCounts counts_;
  std::vector<bool> row_done_;
  StepId step_ = 0;
  uint64_t attempt_ = 0;
  bool open_ = false;
  bool decodable_ = false;
};

}  // namespace motley
