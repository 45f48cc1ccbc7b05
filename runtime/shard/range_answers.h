// SPDX-License-Identifier: Apache-2.0
// Takes the slices of answers to one shard, and adds up what counts there. It knows the code and
// not the orders: a slice says itself to which row or vector of which attempt at which update it
// belongs. The coordinator decides when an update is enough, and which vectors of lists count. Its
// own shards are the ranges of an UpdateSum, and a ShardHost has those of other nodes. Loop thread
// only.
//
//   Open(5, attempt 1, a code)   Begin, Finish ... arrived(row 2)   Begin, Finish ... decodable()
//   Open(6, attempt 1, lists)    Begin, Finish ... arrived(vector)  Add(vector)  Finish()
//
// Rows go into the stream decoder slice by slice, so those of a straggler count even if the rest
// never comes. Slices of lists wait, and their vector is added whole or not at all. A half-sent or
// refused vector therefore leaves the sum as it was. Both pass the same checks: place, declared
// norm, sketch and tally.
//
// Slices may overtake the message that opens their update, because they come over other
// connections. Such slices wait. A worker has slices of one attempt waiting at a time: those of a
// newer one show that the coordinator has given up the older one.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_memory.h"
#include "base/ids.h"
#include "base/parallel.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "runtime/audit/answer_log.h"
#include "runtime/links/packed_slice.h"
#include "runtime/links/route.h"
#include "runtime/links/slicing.h"
#include "runtime/shard/step_sum.h"
#include "transport/wire/header.h"

namespace motley {

class RangeAnswers {
 public:
  // The answer of a worker to an order: a row of the code, or one of the vectors over a list.
  struct Answer {
    WorkerId worker = 0;
    uint32_t order = 0;
    uint32_t row = 0;
    Tally tally;
  };
  struct Hooks {
    // The row is complete in this range, or all of the vector is here. Runs once for each.
    std::function<void(const Answer&)> arrived;
    std::function<void()> decodable;  // The rows that came are enough here.
    // The answer was refused. `touched`: part of it is in the sum, so the update must be opened
    // again.
    std::function<void(const Answer&, bool touched, const Status& why)> refused;
    // A slice passed the checks. `added`: it is in the sum of rows. May be null.
    std::function<void(const Answer&, bool added)> came;
  };
  // A slice that is arriving, of one connection.
  struct Slice {
    AlignedVector values;
    PackedSlice packed;
    Header header;
    bool coming = false;

    std::span<std::byte> Room() { return packed.Room(values); }  // For the payload.
  };

  struct Shape {
    Route route;
    uint32_t shard = 0;
    size_t slice_length = 0;                 // Floats.
    WireFormat wire = WireFormat::kFloat32;  // How answers travel.
    bool keep_rows = false;                  // As in DecodeLimits.
    // Floats of one worker's slices that overtake their update. An honest worker must not reach it:
    // its connection would be cut.
    size_t most_waiting = 0;
  };

  // The memory for slices, `parallel` and `home` are borrowed. The sum is formed in `home`, or, if
  // that is empty, in memory of this object.
  RangeAnswers(Shape shape, SpareSlices& spare, ParallelFor& parallel, std::span<float> home,
               Hooks hooks);

  // From now on, sketches of slices go to the log while it keeps the open update. Borrowed.
  void SetLog(AnswerLog* log) { log_ = log; }

  // An update starts, or starts again, with rows of `form`, or with lists if it is null. What came
  // for the attempt before is gone. Slices that waited for this are taken now.
  void Open(const Update& update, uint32_t attempt, std::shared_ptr<const CodeForm> form);

  // A header announces a slice. Begin makes room for it, or returns false to discard it.
  // kDataError: the slice belongs to no answer. kResource: there is no memory for it.
  Result<bool> Begin(WorkerId worker, const Header& header, Slice& slice);
  // The slice is here. kResource: there is no memory to add it. A refused slice is reported by the
  // hook.
  Status Finish(WorkerId worker, Slice& slice);

  // The coordinator's decision that a vector that arrived counts. kDataError: there is no such
  // vector.
  struct Added {
    std::vector<double> sketches;  // By slice, if there is a log.
    Tally tally;
  };
  Result<Added> Add(const Answer& which);
  // Ends the sum, and the update takes no more slices. Rows must be decodable.
  Status EndSum();
  Result<ApproximateDecoding> EndSum(const std::vector<bool>& rows);

  const Slicing& cut() const { return cut_; }  // The cut of whole answers to the open update.
  // The cut of answers with rows of `form`, or, if it is null, of lists. `whole` is that of
  // vectors.
  static Slicing CutOf(const Slicing& whole, const CodeForm* form);
  bool Complete(RowId row) const { return sum_.decoder().RowComplete(row); }
  bool open() const { return open_; }
  StepId step() const { return update_.id; }
  uint32_t attempt() const { return attempt_; }
  // The range's sum once it has ended, padding included. Whoever works with it elsewhere holds it:
  // the next update then has its sum in other memory.
  std::shared_ptr<AlignedVector> values() { return home_; }
  const Tally& tally() const { return sum_.tally(); }
  double amplification() const { return sum_.amplification(); }

 private:
  using Key = std::tuple<WorkerId, uint32_t, uint32_t>;  // Worker, order, row.
  struct Part {                                          // The part of an answer that is here.
    SlicesCame came;
    std::vector<AlignedVector> slices;  // The slices of a list's vector.
    std::vector<double> sketches;       // Theirs, for the log.
    bool added = false;                 // A slice of a row is in the sum.
    bool arrived = false;
    bool refused = false;
  };
  using Attempt = std::pair<StepId, uint32_t>;  // At an update. Later ones are greater.
  struct Early {                                // A worker's slices that wait for their update.
    Attempt attempt;
    size_t floats = 0;
    std::list<Slice> slices;  // In the order of arrival.
  };

  size_t slices() const;
  static Attempt AttemptOf(const Header& header) { return {header.step, header.attempt}; }
  Attempt Now() const { return {update_.id, attempt_}; }
  Status Overtakes(WorkerId worker, const Header& header) const;
  void TakeEarly(WorkerId worker, Early& early);
  AnswerLog* LogNow() const;
  bool NotWanted(const Part& part) const;
  Result<size_t> LocalSlice(const Header& header) const;
  Status Take(WorkerId worker, Slice& slice);
  Status TakeRow(const Answer& answer, Part& part, size_t index, Slice& slice, const Claim& claim);
  void TakeOfList(const Answer& answer, Part& part, size_t index, Slice& slice, const Claim& claim);
  void Refuse(const Answer& answer, Part& part, bool touched, const Status& why);

  const Shape shape_;
  const Slicing whole_;  // The cut of whole vectors.
  const bool lent_;      // The sum is formed in memory of others.
  Hooks hooks_;
  std::shared_ptr<AlignedVector> home_;  // Null before the first update, and if it is lent.
  AnswerLog* log_ = nullptr;
  SpareSlices& spare_;
  StepSum sum_;
  Update update_;
  uint32_t attempt_ = 0;
  std::shared_ptr<const CodeForm> form_;  // Null: lists.
  Slicing cut_;                           // The cut of whole answers to the open update.
  bool open_ = false;
  bool decodable_ = false;
  std::vector<bool> row_done_;
  std::map<Key, Part> parts_;
  std::map<WorkerId, Early> early_;
};

}  // namespace motley
