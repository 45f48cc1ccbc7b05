// SPDX-License-Identifier: Apache-2.0
// A worker's orders: the executor computes them one after the other, when what they need is there,
// and sends the answers. Loop thread only.
//
// An order that cannot be taken back ends with exactly one AnswerEnd, in turn, behind its slices
// (both are bulk). It shows the server that nothing more comes. An order to be kept ends with its
// AnswerEnd alone. Later orders about the same partitions are put together from the kept sum.
//
// The executor works on a revocable order alone: a later order ends it, and earlier ones have
// ended. It ends without a message, since the server knows.
//
//   orders 1, 2 (rows), cancel 2     AnswerEnd 1 finished, AnswerEnd 2 unfinished
//   order 1 (waits)                  Progress 1 ready; Flush 1: the slices leave, AnswerEnd 1
//   order 3 (a list), Flush 3        AnswerEnd 3 with its entries; the order stays
//   order 3 with more partitions     it goes on, with a sum of its own
//   order 4 (a list)                 the device cancels its work on order 3
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
    ParameterInbox& parameters;
    const PartitionInbox& partitions;
    PeerId peer = 0;
    Header header;      // The header of its messages: job and incarnation.
    Slicing cut;        // The cut of whole vectors.
    uint64_t seed = 0;  // The job's, for rounding.
    // The connections to the nodes that sum the shards; null: all are the server's.
    Outbox::PeerOf peer_of = nullptr;
  };
  // `failed` runs when an order cannot be computed at all. It may destroy the executor.
  Executor(Env env, Parts parts, std::function<void(const Status&)> failed);
  ~Executor();

  void SetAnswerFilter(AnswerFilter filter) { outbox_.SetFilter(std::move(filter)); }

  // Reports that this worker is ready, its speed, and where it accepts other workers.
  void Introduce(double samples_per_second, const std::string& address = "");
  // Takes a new order, or more partitions for a list. An order for a newer step supersedes older
  // ones. kDataError: the order has more partitions or the queue more orders than is possible.
  Status Take(WorkOrder::What what);
  // Revoke is about an order that can be taken back, and Flush also about one that waits. They do
  // nothing if it has ended. kDataError: there are no such partitions.
  Status Revoke(const wire::RevokeT& revoke);
  void Flush(const wire::FlushT& flush);
  // Order `order` of the step is not needed, nor is the part of its answer that has not left. 0
  // means all orders of steps up to this one. A worker that ever had a revocable order then answers
  // with a Progress, so that the server knows that a silent worker is back.
  void Cancel(StepId step, uint32_t order);
  // Sends the first slices of a vector of zeros, as kProbe frames.
  void SendProbe(uint32_t slices);
  // Parameters or a partition arrived.
  void Advance();
  // Stops for good: computes nothing more, and takes back what has not left.
  void Stop();

 private:
  struct First {         // The state of the first order in the queue.
    bool busy = false;   // The order is being computed, put together or sent.
    bool asked = false;  // The server knows that slices could leave.
    SharedVector sum;    // The buffer for the sum; null if the order has not begun.
    // The answer that owns the sum; null if the sum is to be kept.
    Outbox::Vector* answer = nullptr;
    std::vector<KeptSums::Share> shares;  // Kept sums to add when the rest is computed.
    Tally of_shares;
    size_t sent = 0;       // Partitions that answers cover.
    uint32_t vectors = 0;  // Answers that were begun.
    Time reported{};       // When progress was last reported, or the order began.
  };

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
  void LetSend(StepId step, uint32_t order);
  void AskToSend(const WorkOrder& order);
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
  std::vector<WorkOrder::Room> rooms_;  // Memory for later orders.
  struct {
    Bytes end, progress;
  } last_;                  // The last messages; the next ones differ by a few numbers.
  bool revocable_ = false;  // The worker ever had a revocable order.
  bool stopped_ = false;
  Alive alive_;
};

}  // namespace motley
