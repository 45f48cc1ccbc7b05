// SPDX-License-Identifier: Apache-2.0
// A worker's orders: computes them one after the other when what they need is there, and sends the
// answers. Loop thread only.
//
// An order that cannot be taken back ends with exactly one AnswerEnd, in turn, behind its slices
// (both are bulk): by it the server knows that nothing more comes. One that is to be kept ends
// with it alone, and later orders about the same partitions are put together from what was kept.
//
// A revocable order is the only one that is worked on: what comes after it ends it, and what came
// before has ended. It ends without a message, since the server knows.
//
//   orders 1, 2 (rows), cancel 2     AnswerEnd 1 finished, AnswerEnd 2 unfinished
//   order 3 (a list), Flush 3        AnswerEnd 3 with its entries; the order stays
//   order 3 with more partitions     it goes on, with a sum of its own
//   order 4 (a list)                 what is on the device of order 3 is cancelled
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/alive.h"
#include "runtime/worker/kept_sums.h"
#include "runtime/worker/outbox.h"
#include "runtime/worker/work_order.h"
#include "runtime/worker/worker_inbox.h"
#include "runtime/worker/worker_node.h"

namespace motley {

class Executor {
 public:
  struct Parts {
    std::shared_ptr<Workshop> shop;
    const ParameterInbox& parameters;
    const PartitionInbox& partitions;
    PeerId peer = 0;
    Header header;  // Job and incarnation.
    uint32_t slice_length = 0;
  };
  // `failed` runs when an order cannot be computed at all. It may destroy this object.
  Executor(Env env, Parts parts, std::function<void(const Status&)> failed);
  ~Executor();

  void SetAnswerFilter(AnswerFilter filter) { outbox_.SetFilter(std::move(filter)); }

  // Says that this worker is free, and how fast.
  void Introduce(double samples_per_second);
  // A new order, or more of one that can go on. An order for a newer step supersedes older ones.
  // kDataError: more than could be.
  Status Take(WorkOrder::What what);
  // About an order that can be taken back; nothing where it has ended. kDataError: partitions that
  // cannot be.
  Status Revoke(const wire::RevokeT& revoke);
  void Flush(const wire::FlushT& flush);
  // This order of the step is not needed, nor its answer as far as it has not left. 0: all orders
  // of steps up to this one. A worker that ever had a revocable order answers that with a Progress,
  // by which the server knows that a silent worker is back.
  void Cancel(StepId step, uint32_t order);
  // The first slices of a vector, of zeros, as kProbe frames.
  void SendProbe(uint32_t slices);
  // Parameters or a partition arrived.
  void Advance();
  // Nothing more is computed, and what has not left is taken back. For good.
  void Stop();

 private:
  using Sum = std::shared_ptr<std::vector<float>>;
  struct First {                          // What belongs to the first order in the queue.
    bool busy = false;                    // It is being computed, put together or sent.
    Sum sum;                              // What it is computed into; null: not begun.
    Outbox::Vector* answer = nullptr;     // That the sum is in; null: the sum is to be kept.
    std::vector<KeptSums::Share> shares;  // To be added when the rest is computed.
    Tally of_shares;
    size_t sent = 0;  // Partitions that answers cover.
    Time reported{};  // When progress was reported last, or it began.
  };

  size_t Length() const { return VectorLength(parts_.shop->trainer->parameter_count()); }
  WorkOrder* ListOf(StepId step, uint32_t order);
  template <typename Meant>
  void CancelIf(const Meant& meant);
  Result<bool> GoOn(WorkOrder& order);
  Result<bool> Begin(WorkOrder& order);
  Result<bool> BeginAnswer(WorkOrder& order);
  bool Conclude(WorkOrder& order);
  void AddShares(WorkOrder& order);
  void SendAnswer(WorkOrder& order);
  void End(bool finished);
  WorkOrder::Hooks Hooks(const WorkOrder& order);
  void OnProgress(bool chunk_is_done);
  void OnChunk(const Status& status);
  void SayEnd(const WorkOrder& order, size_t entries, bool finished);
  void Say(const Bytes& control, Priority priority);

  Env env_;
  Parts parts_;
  std::function<void(const Status&)> failed_;
  Outbox outbox_;
  KeptSums kept_;
  std::deque<std::shared_ptr<WorkOrder>> queue_;
  First first_;
  std::vector<WorkOrder::Room> rooms_;  // For orders to come.
  struct {
    Bytes end, progress;
  } last_;                  // Messages: the next differ by a few numbers.
  bool revocable_ = false;  // It ever had such an order.
  bool stopped_ = false;
  Alive alive_;
};

}  // namespace motley
