// SPDX-License-Identifier: Apache-2.0
// Decides which answers count, and reports to the scheduler what became of them. All fencing is
// here and in the OrderBook: a worker's message counts only for an order of the (job, incarnation,
// step) that the worker has now. The slices go on to the update's sum (UpdateSum) if the shards are
// here. Otherwise they go to other nodes, and these report what came (RemoteShards). Loop thread
// only.
//
//   row 2 of worker 0     Begin, Finish, Begin, Finish: RowArrived     OnEnd: finished
//   3 4 5 of worker 1     Begin, Finish, Begin, Finish                 OnEnd: added, LeaseVector
//
// Workers may keep rows (CodeForm::kept_parts). Such a row has arrived when the worker's end of the
// answer says so. Nothing is decoded until the step is opened again with the code of the answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "runtime/audit/answer_log.h"
#include "runtime/shard/batch_weight.h"
#include "runtime/shard/order_book.h"
#include "runtime/shard/remote_shards.h"
#include "runtime/shard/update_sum.h"
#include "scheduler/scheduler.h"
#include "transport/wire/control.h"
#include "transport/wire/header.h"

namespace motley {

class Answers {
 public:
  struct Hooks {
    // Raises RowArrived, RowReady, StepDecodable, RowLate, RowRejected, LeaseProgress,
    // LeaseReleased, LeaseSlice, LeaseVector and WorkerProgress (with 0 samples when an order has
    // ended). The receiver may call back.
    std::function<void(Event)> raise;
    // Runs before LeaseVector, when a vector over these partitions was added.
    std::function<void(WorkerId, StepId, std::span<const PartitionId>)> covered;
    // A sum for an update that opens. Its error is that of Open.
    std::function<Result<std::shared_ptr<UpdateSum>>()> sum;
    // The newest version of the parameters. Answers may be computed with it, or with any version
    // from their update's base version on.
    std::function<uint64_t()> newest;
    // The values of a version that the worker was sent. Empty: no update needs those that its
    // answers were computed with. Otherwise orders name the newest version, and `sent` is null for
    // versions before that of the worker's last order. Answers from those are refused.
    std::function<ParameterCopy(WorkerId, uint64_t version)> sent = {};
  };
  // A slice that is arriving. It belongs to the connection, which may outlast the worker's stay
  // here.
  using Slice = RangeAnswers::Slice;

  Answers(uint32_t workers, uint32_t partitions, Hooks hooks);

  // Sets the log that keeps the sketches of what counts and compares late copies. It is borrowed.
  // Call this before the first Open. It follows the update that was opened last.
  void SetLog(AnswerLog* log) { log_ = log; }

  // From now on workers hold the shards. Slices go there, and what comes here is what the shards
  // report. Borrowed. Call it while no update is open. They log the slices, too.
  void SetRemote(RemoteShards* remote);

  OrderBook& orders() { return orders_; }

  // An update starts, or starts again, with rows of `form`, or with lists if it is null. Its
  // earlier orders no longer count. Other updates stay open beside it. `counts` is what answers
  // must weigh; null if that is not known.
  Status Open(const Update& update, std::shared_ptr<const CodeForm> form,
              KnownCounts counts = nullptr);
  // Finishes the sum of an open update and closes it; answers that still come are late. If workers
  // hold the shards, the sum ends there, and the result is null. Precondition otherwise: the rows
  // are decodable. kInternal: the lists do not tile all partitions.
  Result<std::shared_ptr<UpdateSum>> Close(StepId id);
  // An alternative to Close if the rows do not decode: forms the best sum of the rows that are
  // complete in all shards. kNotDecodable when there are none. Only with sums that keep rows.
  struct Approximation {
    std::shared_ptr<UpdateSum> sum;
    ApproximateDecoding decoding;
  };
  Result<Approximation> CloseApproximately(StepId id);
  // The update will be opened again. Until then nothing counts for it. Does nothing if it is
  // closed.
  void GiveUp(StepId id);
  bool decodable(StepId id) const;  // The update is open, and its rows decode.

  // Returns the message to send to the worker. The update is open.
  const Bytes& GiveRow(WorkerId worker, StepId id, RowId row, bool waits = false,
                       bool ahead = false);

  // A header announces a slice. Begin makes room for it, or returns false to discard it. `fenced`:
  // the header names another job or incarnation. kDataError: the worker is at fault, and the event
  // was raised. kResource: the server has no memory for the answer.
  Result<bool> Begin(WorkerId worker, const Header& header, bool fenced, Slice& slice);
  // The slice of the last Begin is complete. Errors as above; after kResource the step cannot go
  // on.
  Status Finish(WorkerId worker, Slice& slice);

  // Takes a worker's message. kDataError: it is impossible, and the worker is not to be trusted.
  Status OnProgress(WorkerId worker, const wire::ProgressT& progress);
  Status OnReleased(WorkerId worker, const wire::ReleasedT& released);
  // False: the worker was given no such order. kDataError: the answer is refused, and the event was
  // raised.
  Result<bool> OnEnd(WorkerId worker, const wire::AnswerEndT& end);
  // The slices of the answer go to shards on other nodes, and not all of them are known to be
  // there. OnEnd waits until this is false, which may be after any report of a shard, or Open or
  // Close.
  bool Awaits(WorkerId worker, const wire::AnswerEndT& end);

  // What shards on other nodes report, of the open update: all of them have a row or a vector; all
  // have their sum; an answer was refused.
  void OnWhole(const wire::ShardRowT& whole);
  void OnSummed(StepId id);
  void OnRefused(const wire::ShardRefusedT& refused);

 private:
  using Order = OrderBook::Order;

  // An open update, beside its page in the book.
  struct OpenUpdate {
    std::shared_ptr<UpdateSum> sum;  // Null if workers hold the shards.
    KnownCounts counts;
    std::vector<bool> row_done;
    bool decodable = false;  // The scheduler knows that it decodes.
  };

  OpenUpdate End(StepId id);
  void Raise(Event event);
  Status Check(const Header& header, const Order& order) const;
  void Came(StepId id, const UpdateSum::Answer& answer, bool added);
  void Whole(StepId id, const UpdateSum::Answer& answer);
  void Refused(StepId id, const UpdateSum::Answer& answer, bool touched, const Status& why);
  void EndRow(WorkerId worker, const Order& row, bool finished);
  Status EndVector(WorkerId worker, Order& list, uint32_t entries);
  Status CheckVector(const OpenUpdate& open, const Order& list, uint32_t entries,
                     Tally& tally) const;
  void CountLate(WorkerId worker, const Header& header, bool fenced, Order* row);
  Status Refuse(WorkerId worker, Order& order, Status why);

  const Hooks hooks_;
  OrderBook orders_;
  std::map<StepId, OpenUpdate> open_;
  AnswerLog* log_ = nullptr;
  RemoteShards* remote_ = nullptr;  // Null: the shards are here.
  // Inside Finish. Its events wait, because receivers may call back.
  bool finishing_ = false;
  std::vector<Event> events_;  // Those that wait.
  Status refusal_;             // The last one.
};

}  // namespace motley
