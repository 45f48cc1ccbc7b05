// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/remote_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/form_bytes.h"
#include "runtime/links/messages.h"
#include "runtime/memory_need.h"
#include "runtime/shard/shard_host.h"

namespace motley {
RemoteShards::RemoteShards(Loop& loop, Transport& transport, Setup setup, Hooks hooks)
    : loop_(loop), transport_(transport), setup_(std::move(setup)), hooks_(std::move(hooks)) {}

RemoteShards::~RemoteShards() {
  if (timer_ != 0) loop_.Cancel(timer_);
}

std::set<WorkerId> RemoteShards::Nodes() const {
  std::set<WorkerId> nodes;
  for (const Shard& shard : shards_) {
    nodes.insert(shard.owner);
    nodes.insert(shard.followers.begin(), shard.followers.end());
  }
  return nodes;
}

template <typename Message>
void RemoteShards::TellAll(const Message& message) {
  for (const WorkerId node : Nodes()) Tell(node, message);
}

// --- Who holds what ---

// A node that could follow the shard: the next one behind its owner with the fewest shards, so that
// the load is spread and so are the shards of a node that is lost.
std::optional<WorkerId> RemoteShards::Candidate(const Shard& shard) const {
  std::map<WorkerId, size_t> held;
  for (const Shard& each : shards_) {
    ++held[each.owner];
    for (const WorkerId follower : each.followers) ++held[follower];
  }
  std::optional<WorkerId> best;
  const auto consider = [&](WorkerId worker, const std::string& address) {
    const auto shunned = shunned_.find(worker);
    if (shunned != shunned_.end() && version_ < shunned->second) return;
    const bool can = !address.empty() && worker != shard.owner && !shard.followers.contains(worker);
    if (can && (!best || held[worker] < held[*best])) best = worker;
  };
  const auto behind = members_.upper_bound(shard.owner);
  for (auto at = behind; at != members_.end(); ++at) consider(at->first, at->second);
  for (auto at = members_.begin(); at != behind; ++at) consider(at->first, at->second);
  return best;
}

void RemoteShards::Place(const std::vector<WorkerId>& owners,
                         std::map<WorkerId, std::string> members, const State& state) {
  MOTLEY_ASSERT(owners.size() == setup_.route.shards() && shards_.empty());
  members_ = std::move(members);
  version_ = state.version;
  shards_.resize(owners.size());
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    shards_[number].owner = owners[number];
  }
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    while (shard.followers.size() < setup_.followers) {
      const auto next = Candidate(shard);
      if (!next) break;
      shard.followers.insert(*next);
    }
    SendHold(number, shard.owner, &state);
    for (const WorkerId follower : shard.followers) {
      SendHold(number, follower, &state);
    }
  }
}

wire::ShardHoldT RemoteShards::HoldFor(uint32_t number, WorkerId node) const {
  const Shard& shard = shards_[number];
  wire::ShardHoldT hold;
  hold.shard = number;
  hold.epoch = shard.epoch;
  hold.owner = node == shard.owner;
  if (hold.owner) hold.followers.assign(shard.followers.begin(), shard.followers.end());
  hold.version = version_;
  hold.known = true;
  SetOptimizer(hold, setup_.optimizer);
  hold.keep_rows = setup_.keep_rows;
  return hold;
}

// Gives the shard to a node that does not have it yet, or (without a state) makes a follower the
// owner.
void RemoteShards::SendHold(uint32_t number, WorkerId node, const State* state) {
  wire::ShardHoldT hold = HoldFor(number, node);
  hold.known = state == nullptr;
  if (state != nullptr) {
    const size_t arrays = state->arrays->size() / state->parameters->size();
    hold.optimizer_steps = state->optimizer_steps;
    hold.state_floats = arrays * setup_.route.parameters(number);
  }
  pending_.emplace(number, node);
  Tell(node, hold);
  if (state != nullptr) SendState(node, number, *state);
}

// Tells a node what it holds, with the followers of today. Its answer shows that it is there.
void RemoteShards::SendAgain(uint32_t number, WorkerId node) {
  told_.emplace(number, node);
  Tell(node, HoldFor(number, node));
}

void RemoteShards::SendState(WorkerId worker, uint32_t number, const State& state) {
  const auto node = hooks_.node(worker);
  if (!node) return;
  const size_t begin = setup_.route.begin(number);
  const size_t size = setup_.route.parameters(number);
  const size_t whole = state.parameters->size();
  const auto copy = std::make_shared<std::vector<float>>();
  const auto append = [&](const std::vector<float>& from, size_t at) {
    const std::span<const float> part = std::span(from).subspan(at, size);
    copy->insert(copy->end(), part.begin(), part.end());
  };
  append(*state.parameters, begin);
  for (size_t array = 0; array < state.arrays->size() / whole; ++array) {
    append(*state.arrays, array * whole + begin);
  }
  Header header = node->header;
  header.kind = FrameKind::kShardState;
  header.shard = number;
  header.version = state.version;
  SendVector(transport_, node->peer, header, copy, setup_.slice_length);
}

Status RemoteShards::OnHeld(WorkerId worker, const wire::ShardHeldT& held) {
  if (held.shard >= shards_.size())
    return Status::DataError("it holds a shard that does not exist");
  // A new owner must know that it is one. Followers are what they were under any owner.
  const Shard& shard = shards_[held.shard];
  told_.erase({held.shard, worker});
  if (held.epoch == shard.epoch || worker != shard.owner) pending_.erase({held.shard, worker});
  CheckPlaced();
  return Status::Ok();
}

void RemoteShards::CheckPlaced() {
  if (!placed()) return;
  Announce();
  hooks_.placed();
}

void RemoteShards::Announce() {
  for (const auto& [worker, address] : members_) Introduce(worker);
}

void RemoteShards::Joined(WorkerId worker, const std::string& address) {
  if (!began()) return;
  members_[worker] = address;
  Introduce(worker);
}

void RemoteShards::Introduce(WorkerId worker) {
  wire::ShardsT shards;
  for (const Shard& shard : shards_) shards.owners.push_back(shard.owner);
  for (const WorkerId node : Nodes()) {
    const auto member = members_.find(node);
    if (member == members_.end()) continue;  // It is lost, and so is its shard.
    if (shards.addresses.size() <= node) shards.addresses.resize(node + 1);
    shards.addresses[node] = member->second;
  }
  Tell(worker, shards);
}

void RemoteShards::Lost(WorkerId worker, Incarnation incarnation, const Status& why) {
  if (!began()) return;
  members_.erase(worker);
  wire::ShardGoneT gone;
  gone.worker = worker;
  gone.incarnation = incarnation;
  TellAll(gone);
  asked_.erase(worker);
  Forsake(worker, why);
}

// Nothing is held by this worker any more.
void RemoteShards::Forsake(WorkerId worker, const Status& why) {
  const auto of_worker = [worker](const auto& each) { return each.second == worker; };
  std::erase_if(pending_, of_worker);
  std::erase_if(told_, of_worker);
  have_code_.erase(worker);  // It misses the codes of updates that it takes no part in.
  const bool had = Nodes().contains(worker);
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    if (shard.followers.erase(worker) > 0) {
      // The owner must send it nothing.
      SendAgain(number, shard.owner);
    }
    if (shard.owner == worker) LoseOwner(number, worker, why);
  }
  if (!had) return;
  if (fetched_ != nullptr) {
    FinishFetch(Status::Unavailable(fmt::format("worker {} was lost with its shards", worker)));
  }
  if (applied_ != nullptr) CheckApplied();
  CheckSums();
  CheckPlaced();
  Watch();
}

// The follower that can own the shard now. One that still gets the state, or does not answer,
// cannot.
std::optional<WorkerId> RemoteShards::HeirOf(uint32_t number) const {
  for (const WorkerId follower : shards_[number].followers) {
    const std::pair<uint32_t, WorkerId> held(number, follower);
    if (!pending_.contains(held) && !told_.contains(held)) return follower;
  }
  return std::nullopt;
}

void RemoteShards::LoseOwner(uint32_t number, WorkerId lost, const Status& why) {
  Shard& shard = shards_[number];
  const std::optional<WorkerId> heir = HeirOf(number);
  if (!heir) {
    open_ = false;  // Nothing is waited for any more.
    applied_ = nullptr;
    return hooks_.failed(Status::Unavailable(fmt::format(
        "shard {} of {} is lost with worker {}, and no worker followed it ({}): resume from a "
        "checkpoint, or start with more `followers`",
        number, shards_.size(), lost, why.ToString())));
  }
  // The sum is safe only if nobody still waits for the lost owner to send it.
  const bool had_sum =
      shard.summed && std::includes(shard.safe.begin(), shard.safe.end(), shard.followers.begin(),
                                    shard.followers.end());
  shard.owner = *heir;
  shard.followers.erase(*heir);
  ++shard.epoch;
  SendHold(number, shard.owner, nullptr);
  hooks_.moved(number, lost, shard.owner);
  if (!open_ || applied_ != nullptr || had_sum) return;
  open_ = false;
  hooks_.restart(why);
}

void RemoteShards::FindFollowers() {
  if (!began() || !placed() || fetching()) return;
  bool wanted = false;
  for (const Shard& shard : shards_) {
    wanted |= shard.followers.size() < setup_.followers && Candidate(shard).has_value();
  }
  if (!wanted) return;
  refilling_ = true;
  Fetch(Part::kValuesAndState, [this](const Result<State>& state) {
    refilling_ = false;
    for (uint32_t number = 0; state.ok() && number < shards_.size(); ++number) {
      Shard& shard = shards_[number];
      while (shard.followers.size() < setup_.followers) {
        const auto next = Candidate(shard);
        if (!next) break;
        shard.followers.insert(*next);
        SendHold(number, *next, &*state);
        SendHold(number, shard.owner, nullptr);
      }
    }
    CheckPlaced();
  });
}

// --- Messages ---

RemoteShards::Shard* RemoteShards::OwnedBy(WorkerId worker, uint32_t number) {
  if (number >= shards_.size() || shards_[number].owner != worker) return nullptr;
  return &shards_[number];
}

Result<bool> RemoteShards::OnMessage(WorkerId worker, const wire::ControlT& control) {
  Status fine;
  if (const auto* row = control.body.AsShardRow()) {
    fine = OnRow(worker, *row);
  } else if (const auto* summed = control.body.AsShardSummed()) {
    fine = OnSummed(worker, *summed);
  } else if (const auto* safe = control.body.AsShardSafe()) {
    const bool here = safe->shard < shards_.size() &&
                      shards_[safe->shard].followers.contains(worker) &&
                      Current(safe->step, safe->attempt);
    if (here) {
      shards_[safe->shard].safe.insert(worker);
      CheckSums();
    }
  } else if (const auto* applied = control.body.AsShardApplied()) {
    fine = OnApplied(worker, *applied);
  } else if (const auto* held = control.body.AsShardHeld()) {
    fine = OnHeld(worker, *held);
  } else if (const auto* refused = control.body.AsShardRefused()) {
    if (OwnedBy(worker, refused->shard) != nullptr && Current(refused->step, refused->attempt)) {
      hooks_.refused(*refused);
    }
  } else {
    return false;
  }
  Watch();
  if (!fine.ok()) return fine;
  return true;
}

// A row may have come from other workers in other shards.
Status RemoteShards::OnRow(WorkerId worker, const wire::ShardRowT& row) {
  if (OwnedBy(worker, row.shard) == nullptr || !Current(row.step, row.attempt)) {
    return Status::Ok();
  }
  if (rows_ && row.row >= whole_.size()) {
    return Status::DataError(fmt::format("row {} of {} is whole", row.row, whole_.size()));
  }
  const Key key = rows_ ? Key{0, 0, row.row} : Key{row.worker, row.order, row.row};
  std::set<uint32_t>& where = came_[key];
  where.insert(row.shard);
  if (where.size() < shards_.size()) return Status::Ok();
  const bool first = rows_ && !whole_[row.row];
  if (first) whole_[row.row] = true;
  hooks_.whole(row);
  // Sums that may end with any rows do not end by themselves. All rows are enough.
  if (first && setup_.keep_rows && Current(row.step, row.attempt) && AllWhole()) {
    hooks_.decodable();
  }
  return Status::Ok();
}

bool RemoteShards::AllWhole() const {
  for (RowId row = 0; row < form_->workers; ++row) {
    if (!form_->rows[row].empty() && !whole_[row]) return false;
  }
  return true;
}

// --- Updates ---

Status RemoteShards::Open(const Update& update, uint32_t attempt,
                          const std::shared_ptr<const CodeForm>& form) {
  open_ = true;
  asked_.clear();
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
  update_ = update;
  attempt_ = attempt;
  rows_ = form != nullptr;
  came_.clear();
  whole_.assign(rows_ ? form->workers : 0, false);
  all_summed_ = false;
  summed_ = nullptr;
  for (Shard& shard : shards_) {
    shard.summed = false;
    shard.safe.clear();
    shard.applied.clear();
  }
  wire::ShardOpenT open;
  open.step = update.id;
  open.base_version = update.base_version;
  open.attempt = attempt;
  open.lists = !rows_;
  if (rows_ && form != form_) {
    form_ = form;
    have_code_.clear();
  }
  // Only nodes that do not have the code are sent it.
  wire::ShardOpenT with_code = open;
  open.same_code = rows_;
  const std::set<WorkerId> nodes = Nodes();
  if (rows_ && !std::includes(have_code_.begin(), have_code_.end(), nodes.begin(), nodes.end())) {
    const Bytes code = EncodeForm(*form);
    MOTLEY_RETURN_IF_ERROR(CheckSendable(FrameKind::kControl, code.size() + 256)
                               .WithContext("the code does not fit into a message to its shards"));
    const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
    with_code.code.assign(bytes, bytes + code.size());
  }
  for (const WorkerId node : nodes) {
    const bool has = !rows_ || !have_code_.insert(node).second;
    Tell(node, has ? open : with_code);
  }
  return Status::Ok();
}

void RemoteShards::Add(const wire::ShardAddT& vector) { TellAll(vector); }

Status RemoteShards::OnSummed(WorkerId worker, const wire::ShardSummedT& summed) {
  Shard* shard = OwnedBy(worker, summed.shard);
  if (shard == nullptr || !Current(summed.step, summed.attempt)) return Status::Ok();
  shard->summed = true;
  shard->sum = summed;
  CheckSums();
  return Status::Ok();
}

// Has every shard its sum, at its owner and then at its followers? The step needs no more answers
// before that.
void RemoteShards::CheckSums() {
  if (!open_ || applied_ != nullptr) return;
  bool safe = true;
  for (const Shard& shard : shards_) {
    if (!shard.summed) return;
    for (const WorkerId follower : shard.followers) safe &= shard.safe.contains(follower);
  }
  const bool first = !std::exchange(all_summed_, true);
  if (first && rows_ && !setup_.keep_rows) hooks_.decodable();
  if (!safe || summed_ == nullptr || !open_) return;
  const Summed summed = std::exchange(summed_, nullptr);
  summed(Total());
}

void RemoteShards::EndSum(bool approximately, Summed summed) {
  summed_ = std::move(summed);
  const bool any_rows = rows_ && (approximately || setup_.keep_rows);
  if (rows_ && !any_rows) return CheckSums();  // Exact sums end by themselves.
  wire::ShardFinishT finish;
  finish.step = update_.id;
  finish.attempt = attempt_;
  if (any_rows) {
    finish.rows.assign(whole_.begin(), whole_.end());
  }
  TellAll(finish);
}

RemoteShards::Sum RemoteShards::Total() const {
  Sum total;
  const wire::ShardSummedT& first = shards_.front().sum;
  total.tally.loss = FromWire(first.loss);
  total.tally.weight = FromWire(first.weight);
  total.weights = first.weights;
  total.coverage = first.coverage;
  total.error = first.error;
  for (const Shard& shard : shards_) {
    total.amplification = std::max(total.amplification, shard.sum.amplification);
    total.squares += shard.sum.squares;
  }
  return total;
}

void RemoteShards::Apply(const wire::ShardApplyT& apply,
                         std::function<void(const Status&)> applied) {
  MOTLEY_ASSERT(open_ && all_summed_ && applied_ == nullptr);
  applied_ = std::move(applied);
  apply_status_ = Status::Ok();
  wire::ShardApplyT message = apply;
  message.step = update_.id;
  message.attempt = attempt_;
  TellAll(message);
  Watch();
}

Status RemoteShards::OnApplied(WorkerId worker, const wire::ShardAppliedT& applied) {
  if (applied.shard >= shards_.size() || applied_ == nullptr || applied.step != update_.id) {
    return Status::Ok();
  }
  if (!applied.finite) {
    apply_status_ = Status::DataError("training diverged");
  } else if (!applied.error.empty()) {
    apply_status_ = Status::Resource(applied.error);
  }
  shards_[applied.shard].applied.insert(worker);
  CheckApplied();
  return Status::Ok();
}

void RemoteShards::CheckApplied() {
  for (const Shard& shard : shards_) {
    if (!shard.applied.contains(shard.owner)) return;
    for (const WorkerId follower : shard.followers) {
      if (!shard.applied.contains(follower)) return;
    }
  }
  open_ = false;
  if (apply_status_.ok()) version_ = update_.id + 1;
  const auto applied = std::exchange(applied_, nullptr);
  applied(apply_status_);
}

}  // namespace motley
