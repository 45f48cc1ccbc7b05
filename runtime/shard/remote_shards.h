// SPDX-License-Identifier: Apache-2.0
// The shards of a job as its coordinator sees them when workers hold them: who owns and who follows
// each, what has arrived there for the open update, and how far its commit is. The other ends are
// ShardHosts. Loop thread only.
//
//   Place              ShardHold and the state to owners and followers; all held: placed()
//   Open               ShardOpen
//   a row is whole in every shard, and (exact rows) every shard has its sum: hooks
//   Commit             lists and approximate sums: ShardFinish, and each shard has its sum;
//                      then the owner and each follower have the sum: ShardApply, ShardApplied
//
// A node that holds up an update longer than nodes usually do is asked if it is there. If it does
// not answer either, it is late: its followers take over, and it holds nothing for a while, the
// longer the more often it was late. It stays a worker.
//
// An update is applied only when a follower of each shard has its sum too. From then on no loss of
// one node can stop it, and no version exists twice with other values. An owner that is lost before
// that takes the update's sum along, and the update starts again (hook restart). Its follower owns
// the shard under a new epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "runtime/links/messages.h"
#include "runtime/links/route.h"
#include "runtime/shard/publisher.h"
#include "training/optimizers/optimizer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class RemoteShards {
 public:
  // The parameters of all shards, and the arrays of the optimizer's state, each as long as the
  // parameters.
  struct State {
    uint64_t version = 0;
    ParameterCopy parameters;
    uint64_t optimizer_steps = 0;
    ParameterCopy arrays;  // Null: no fetch asked for them.
  };
  struct Hooks {
    // The connection to a worker, and the header of messages to it; nothing if it is not connected.
    struct Node {
      PeerId peer = 0;
      Header header;
    };
    std::function<std::optional<Node>(WorkerId)> node;
    // All shards have this row of the open update, or this vector of a list.
    std::function<void(const wire::ShardRowT&)> whole;
    std::function<void(const wire::ShardRefusedT&)> refused;
    std::function<void()> decodable;  // All shards have the sum of the open update.
    // Part of the open update's sum is lost, so it has to start again.
    std::function<void(const Status& why)> restart;
    // All shards are where they belong, as before.
    std::function<void()> placed;
    // A shard has another owner, or none follows it any more.
    std::function<void(uint32_t shard, WorkerId lost, std::optional<WorkerId> owner)> moved;
    // A shard is lost, or an update failed in one: the job cannot go on.
    std::function<void(const Status&)> failed;
  };
  struct Setup {
    Route route;
    size_t slice_length = 0;  // Floats.
    OptimizerOptions optimizer;
    bool keep_rows = false;  // As in DecodeLimits.
    uint32_t followers = 1;  // Followers of each shard, as long as there are nodes.
  };

  RemoteShards(Loop& loop, Transport& transport, Setup setup, Hooks hooks);
  ~RemoteShards();

  // Gives the shards to these workers (by shard). Followers are chosen among `members`: all workers
  // of the job, with the address of each one's host, which is empty if it has none. `state` has the
  // arrays.
  void Place(const std::vector<WorkerId>& owners, std::map<WorkerId, std::string> members,
             const State& state);
  // Every shard is held by its owner and followers. While that is not so, no command of the
  // scheduler may be carried out.
  bool placed() const { return pending_.empty() && !refilling_; }
  bool began() const { return !shards_.empty(); }

  // A worker joined. It learns who owns what, and may hold shards if it has an address.
  void Joined(WorkerId worker, const std::string& address);
  // This incarnation of a worker is gone, with what it held.
  void Lost(WorkerId worker, Incarnation incarnation, const Status& why);

  // A message from a worker; false: it is not about shards. kDataError: it makes no sense.
  Result<bool> OnMessage(WorkerId worker, const wire::ControlT& control);
  // A slice of a state that was fetched.
  Result<std::span<std::byte>> BeginState(WorkerId worker, const Header& header);
  Status FinishState(WorkerId worker, const Header& header);

  // --- Updates ---
  // An update starts, or starts again. kResource: the code does not fit into a message.
  Status Open(const Update& update, uint32_t attempt, const std::shared_ptr<const CodeForm>& form);
  void Add(const wire::ShardAddT& vector);
  // The sum of the open update in all shards.
  struct Sum {
    Tally tally;
    double amplification = 0;
    double squares = 0;
    std::vector<double> weights;  // An approximate sum has these, as in ApproximateSum.
    std::vector<double> coverage;
    double error = 0;
  };
  using Summed = std::function<void(const Sum&)>;
  // Ends the sum of the open update and reports it: that of lists or decodable rows, or the best
  // one of the rows that are whole. `summed` does not run if the update starts again.
  void EndSum(bool approximately, Summed summed);
  // Applies the update everywhere. `applied` runs once, when all shards have the next version:
  // kDataError: training has diverged.
  void Apply(const wire::ShardApplyT& apply, std::function<void(const Status&)> applied);
  // The open attempt can be applied: all shards have its sum.
  bool CanApply(StepId step, uint32_t attempt) const {
    return Current(step, attempt) && all_summed_ && applied_ == nullptr;
  }
  uint32_t attempt() const { return attempt_; }
  uint64_t version() const { return version_; }
  bool applying() const { return applied_ != nullptr; }

  // Reads the newest version back, with the optimizer's state if wanted, or instead of it the sum
  // that is about to be applied. One at a time, and not while an update is applied. `fetched` runs
  // with kUnavailable if a shard is lost meanwhile.
  enum class Part : uint8_t { kValues, kValuesAndState, kSum };
  void Fetch(Part part, std::function<void(Result<State>)> fetched);
  bool fetching() const { return fetched_ != nullptr; }
  bool reachable() const;  // The owners of all shards are connected.
  // Finds new followers for shards that lost one. Between updates only; placed() is false until
  // they have the state.
  void FindFollowers();

 private:
  struct Shard {
    WorkerId owner = 0;
    std::set<WorkerId> followers;
    uint32_t epoch = 1;
    // The open update.
    bool summed = false;
    std::set<WorkerId> safe;     // Followers that have the sum.
    std::set<WorkerId> applied;  // Nodes that have applied it.
    wire::ShardSummedT sum;
    // A fetch.
    std::vector<float> fetched;
    size_t came = 0;
    uint64_t optimizer_steps = 0;
  };
  using Key = std::tuple<WorkerId, uint32_t, uint32_t>;  // Worker, order, row; rows: 0, 0, row.

  template <typename Message>
  void Tell(WorkerId worker, const Message& message) {
    const auto node = hooks_.node(worker);
    if (node) SendControl(transport_, node->peer, node->header, message);
  }
  template <typename Message>
  void TellAll(const Message& message);  // All that hold something.
  void SendHold(uint32_t shard, WorkerId node, const State* state);
  void SendAgain(uint32_t shard, WorkerId node);
  wire::ShardHoldT HoldFor(uint32_t shard, WorkerId node) const;
  void SendState(WorkerId node, uint32_t shard, const State& state);
  void Announce();
  void Introduce(WorkerId worker);
  void CheckPlaced();
  std::set<WorkerId> Nodes() const;
  std::optional<WorkerId> Candidate(const Shard& shard) const;
  Status OnHeld(WorkerId worker, const wire::ShardHeldT& held);
  Status OnRow(WorkerId worker, const wire::ShardRowT& row);
  Status OnSummed(WorkerId worker, const wire::ShardSummedT& summed);
  Status OnApplied(WorkerId worker, const wire::ShardAppliedT& applied);
  Shard* OwnedBy(WorkerId worker, uint32_t shard);
  bool Current(StepId step, uint32_t attempt) const {
    return open_ && update_.id == step && attempt_ == attempt;
  }
  bool AllWhole() const;
  void CheckSums();
  std::set<WorkerId> Awaited() const;
  void Watch();
  void OnSlow();
  void OnSilent();
  void Leave(WorkerId late);
  void Forsake(WorkerId worker, const Status& why);
  void CheckApplied();
  Sum Total() const;
  std::optional<WorkerId> HeirOf(uint32_t number) const;
  void LoseOwner(uint32_t shard, WorkerId lost, const Status& why);
  void FinishFetch(Result<State> state);

  Loop& loop_;
  Transport& transport_;
  const Setup setup_;
  Hooks hooks_;
  std::vector<Shard> shards_;
  std::map<WorkerId, std::string> members_;  // The address of each worker's host, or none.
  // Holds that were not confirmed: those without which no update may go on, and the others.
  std::set<std::pair<uint32_t, WorkerId>> pending_, told_;
  uint64_t version_ = 0;
  // The open update.
  bool open_ = false;
  Update update_;
  uint32_t attempt_ = 0;
  std::shared_ptr<const CodeForm> form_;    // The last code that nodes were sent.
  std::set<WorkerId> have_code_;            // Nodes that have it.
  bool rows_ = false;                       // The open update has rows; otherwise lists.
  std::map<Key, std::set<uint32_t>> came_;  // Shards that have the row or vector.
  std::vector<bool> whole_;                 // Rows that all shards have.
  bool all_summed_ = false;
  Summed summed_;
  std::function<void(const Status&)> applied_;
  Status apply_status_;
  std::function<void(Result<State>)> fetched_;
  Part fetched_part_ = Part::kValues;
  uint32_t fetch_id_ = 0;
  bool refilling_ = false;  // A fetch for new followers runs.
  // Nodes that hold up the open update.
  TimerId timer_ = 0;
  Time awaited_since_{};
  Duration usual_{};                      // What the last nodes of an update usually take.
  std::set<WorkerId> asked_;              // Nodes that were asked if they are there.
  std::map<WorkerId, uint64_t> shunned_;  // Late nodes hold nothing before this update.
  std::map<WorkerId, uint32_t> late_;     // How often they were late.
};

}  // namespace motley
