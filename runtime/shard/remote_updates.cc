// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/remote_updates.h"

#include <utility>
#include <variant>

#include "coding/schemes.h"

namespace motley {
namespace {

// Commands that touch no update.
bool MayPass(const Command& command) {
  return std::holds_alternative<Notify>(command) || std::holds_alternative<EndJob>(command) ||
         std::holds_alternative<DropWorker>(command) ||
         std::holds_alternative<PlacePartitions>(command);
}

// The worker that the command is for.
std::optional<WorkerId> WorkerOf(const Command& command) {
  return std::visit(
      [](const auto& each) -> std::optional<WorkerId> {
        if constexpr (requires { each.worker; }) return each.worker;
        return std::nullopt;
      },
      command);
}

// The update that the command opens.
std::optional<StepId> Opens(const Command& command) {
  if (const auto* rows = std::get_if<OpenStep>(&command)) return rows->step;
  if (const auto* lists = std::get_if<OpenLeases>(&command)) return lists->step;
  return std::nullopt;
}

// The part of the vector that each owner has.
std::map<WorkerId, double> PartsOf(const ShardPlacement& placement) {
  const Route& route = placement.route();
  const auto length = static_cast<double>(route.end(route.shards() - 1));
  std::map<WorkerId, double> parts;
  for (size_t shard = 0; shard < route.shards(); ++shard) {
    parts[placement.shards()[shard].owner] += static_cast<double>(route.size(shard)) / length;
  }
  return parts;
}

}  // namespace

RemoteUpdates::RemoteUpdates(Loop& loop, Transport& transport, const JobOptions& options,
                             const Route& route, uint64_t first_version, Answers& answers,
                             Hooks hooks)
    : answers_(answers),
      hooks_(std::move(hooks)),
      shards_(loop, transport,
              {route, options.slice_length, options.optimizer, !SchemeNamed(options.code).exact,
               options.followers, FollowersRead(options), options.workers, options.places(),
               options.holders == JobOptions::Holders::kShardServers,
               options.audit_fraction > 0 ? std::optional(options.seed ^ options.audit_secret)
                                          : std::nullopt},
              {hooks_.node,
               [this](const wire::ShardRowT& whole) {
                 answers_.OnWhole(whole);
                 hooks_.answered();
               },
               [this](const wire::ShardRefusedT& refused) {
                 answers_.OnRefused(refused);
                 hooks_.answered();
               },
               [this] { answers_.OnSummed(open_); },
               [this](const Status&) {
                 lost_ = open_;
                 if (!losing_) hooks_.raise(UpdateLost{*TakeLost()});
               },
               [this] { Drain(); },
               [this](const notice::ShardsMoved& moved) { hooks_.notice(moved); }, hooks_.left,
               [this](WorkerId worker, uint32_t shards) {
                 hooks_.notice(notice::ShardsGained{worker, shards});
               },
               hooks_.failed, hooks_.progress}),
      placement_(loop, transport, options, route, first_version,
                 {hooks_.node,
                  [this](const std::vector<WorkerId>& owners) {
                    shards_.Place(owners, ready_, hooks_.first());
                  },
                  [this] { KeepStar(); }, hooks_.failed, hooks_.notice}),
      first_version_(first_version) {
  answers_.SetRemote(&shards_);
}

bool RemoteUpdates::Holds(const Command& command) {
  if (placement_.star() || MayPass(command)) return false;
  if (!began() && Opens(command)) placement_.Decide(ready_);
  if (held_.empty() && !draining_ && MayGo(command)) return false;
  if (const std::optional<StepId> opens = Opens(command)) GiveUp(*opens);
  // The scheduler has not heard yet that this worker is lost, and another incarnation may join
  // before the command is carried out.
  const std::optional<WorkerId> worker = WorkerOf(command);
  if (!worker || hooks_.node(*worker)) held_.push_back(command);
  return true;
}

// The scheduler has given up the attempt that is open, so nothing may count for it any more, and
// what waits for it is void. Workers must still hear that their orders are. Those that never got
// one are free.
void RemoteUpdates::GiveUp(StepId step) {
  answers_.GiveUp(step);
  std::deque<Command> left;
  for (Command& each : std::exchange(held_, {})) {
    if (const auto* row = std::get_if<AssignRow>(&each)) {
      hooks_.raise(WorkerFree{row->worker, 0, Duration::zero(), 0});
    } else if (std::holds_alternative<CancelWork>(each)) {
      left.push_back(std::move(each));
    }
  }
  held_ = std::move(left);
}

// Nodes get new shards before an update opens.
bool RemoteUpdates::MayGo(const Command& command) {
  if (placement_.star()) return true;
  if (!began() || !shards_.placed()) return false;
  const std::optional<StepId> opens = Opens(command);
  if (!opens) return true;
  shards_.Arrange();
  if (!shards_.placed()) return false;
  open_ = *opens;
  return true;
}

// Commands that come meanwhile wait behind the others.
void RemoteUpdates::Drain() {
  for (const auto& then : std::exchange(when_placed_, {})) then();
  if (std::exchange(draining_, true)) return;
  while (!held_.empty() && MayGo(held_.front())) {
    const Command next = std::move(held_.front());
    held_.pop_front();
    hooks_.execute(next);
  }
  draining_ = false;
}

void RemoteUpdates::Ready(WorkerId worker, const std::string& address, uint32_t times_lost) {
  ready_[worker] = address;
  shards_.Joined(worker, address, times_lost);
  // All that could own a shard were lost while links were measured.
  if (!began() && !held_.empty()) placement_.Decide(ready_);
}

Result<bool> RemoteUpdates::OnMessage(WorkerId worker, const wire::ControlT& control) {
  const wire::LinkReportT* report = control.body.AsLinkReport();
  if (report == nullptr) return shards_.OnMessage(worker, control);
  MOTLEY_RETURN_IF_ERROR(placement_.survey().OnReport(worker, *report));
  return true;
}

Result<std::span<std::byte>> RemoteUpdates::BeginFrame(WorkerId worker, const Header& header) {
  if (header.kind == FrameKind::kLoad) return placement_.survey().Room(header);
  RemoteShards::Readers& readers = shards_.readers();
  if (header.kind == FrameKind::kShardCopy) return readers.copies.BeginPiece(worker, header);
  return readers.Of(header).BeginState(worker, header);
}

Status RemoteUpdates::FinishFrame(WorkerId worker, const Header& header) {
  RemoteShards::Readers& readers = shards_.readers();
  if (header.kind == FrameKind::kShardState) return readers.Of(header).FinishState(worker, header);
  if (header.kind == FrameKind::kShardCopy) {
    readers.copies.FinishPiece(worker, header);
  } else {
    placement_.survey().Arrived(worker, header);
  }
  return Status::Ok();
}

void RemoteUpdates::Lost(WorkerId worker, Incarnation incarnation, const Status& why) {
  ready_.erase(worker);
  // What waits was meant for this incarnation, and not for one that joins soon.
  std::erase_if(held_, [worker](const Command& each) { return WorkerOf(each) == worker; });
  losing_ = true;
  placement_.Lost(worker);
  shards_.Lost(worker, incarnation, why);
  losing_ = false;
}

void RemoteUpdates::KeepStar() {
  answers_.SetRemote(nullptr);
  hooks_.star();
  Drain();
}

void RemoteUpdates::Commit(const CommitStep& command, RemoteShards::Summed summed) {
  const bool approximately = command.approximately && !answers_.decodable(command.step);
  const auto closed = answers_.Close(command.step);
  if (!closed.ok()) return hooks_.failed(closed.status());
  hooks_.answered();
  // The scheduler may choose another code for new owners before the next update.
  if (auto owners = placement_.TakeNews(PartsOf(shards_.placement()))) hooks_.raise(*owners);
  shards_.EndSum(approximately, std::move(summed));
}

}  // namespace motley
