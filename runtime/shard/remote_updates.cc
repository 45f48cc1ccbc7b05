// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/remote_updates.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <variant>

#include "coding/schemes.h"
#include "scheduler/placement/reduction.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

// Below this length (floats, 1 MiB) messages and latencies take longer than bytes do.
constexpr size_t kLongVector = size_t{1} << 18;
constexpr double kRoughly = 0.1;  // Measurements of links differ by this much.
// Each shard costs a few messages in every step, so there are not many, and none of them is short.
constexpr size_t kShardsPerWorker = 4;
constexpr size_t kMostFineShards = 64;
constexpr size_t kShortShard = size_t{1} << 16;

// Commands that touch no update.
bool MayPass(const Command& command) {
  return std::holds_alternative<Notify>(command) || std::holds_alternative<EndJob>(command) ||
         std::holds_alternative<DropWorker>(command) ||
         std::holds_alternative<PlacePartitions>(command);
}

// The update that the command opens.
std::optional<StepId> Opens(const Command& command) {
  if (const auto* rows = std::get_if<OpenStep>(&command)) return rows->step;
  if (const auto* lists = std::get_if<OpenLeases>(&command)) return lists->step;
  return std::nullopt;
}

}  // namespace

RemoteUpdates::RemoteUpdates(Loop& loop, Transport& transport, const JobOptions& options,
                             const Route& route, uint64_t first_version, Answers& answers,
                             Hooks hooks)
    : options_(options),
      route_(route),
      answers_(answers),
      hooks_(std::move(hooks)),
      shards_(loop, transport,
              {route, options.slice_length, options.optimizer, !SchemeNamed(options.code).exact,
               options.followers},
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
               [this](WorkerId lost, const std::map<uint32_t, WorkerId>& owners) {
                 for (const auto& [shard, owner] : owners) {
                   hooks_.notice(notice::ShardMoved{shard, lost, owner});
                 }
               },
               hooks_.failed}),
      survey_(loop, transport, options.workers, hooks_.node),
      first_version_(first_version) {
  answers_.SetRemote(&shards_);
}

bool WorkersMayHold(const JobOptions& options, size_t floats) {
  if (options.holders == JobOptions::Holders::kChosen) return floats >= kLongVector;
  return options.holders == JobOptions::Holders::kWorkers;
}

uint32_t ShardsFor(const JobOptions& options, size_t floats) {
  if (!WorkersMayHold(options, floats)) return options.shards;
  const size_t fine = std::min<size_t>(kShardsPerWorker * options.workers, kMostFineShards);
  return std::max(options.shards, static_cast<uint32_t>(std::min(floats / kShortShard, fine)));
}

bool RemoteUpdates::Holds(const Command& command) {
  if (star_ || MayPass(command)) return false;
  if (!began() && Opens(command)) Begin();
  if (held_.empty() && !draining_ && MayGo(command)) return false;
  if (const std::optional<StepId> opens = Opens(command)) GiveUp(*opens);
  held_.push_back(command);
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

// New followers are found before an update opens.
bool RemoteUpdates::MayGo(const Command& command) {
  if (star_) return true;
  if (!began() || !shards_.placed()) return false;
  const std::optional<StepId> opens = Opens(command);
  if (!opens) return true;
  shards_.FindFollowers();
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

void RemoteUpdates::Ready(WorkerId worker, const std::string& address) {
  ready_[worker] = address;
  shards_.Joined(worker, address);
}

Result<bool> RemoteUpdates::OnMessage(WorkerId worker, const wire::ControlT& control) {
  const wire::LinkReportT* report = control.body.AsLinkReport();
  if (report == nullptr) return shards_.OnMessage(worker, control);
  MOTLEY_RETURN_IF_ERROR(survey_.OnReport(worker, *report));
  return true;
}

Result<std::span<std::byte>> RemoteUpdates::BeginFrame(WorkerId worker, const Header& header) {
  if (header.kind == FrameKind::kLoad) return survey_.Room(header);
  return shards_.reader().BeginState(worker, header);
}

Status RemoteUpdates::FinishFrame(WorkerId worker, const Header& header) {
  if (header.kind != FrameKind::kLoad) return shards_.reader().FinishState(worker, header);
  survey_.Arrived(worker, header);
  return Status::Ok();
}

void RemoteUpdates::Lost(WorkerId worker, Incarnation incarnation, const Status& why) {
  ready_.erase(worker);
  // What waits was meant for this incarnation, and not for one that joins soon.
  std::erase_if(held_, [worker](const Command& each) {
    return std::visit(
        [worker](const auto& command) {
          if constexpr (requires { command.worker; }) return command.worker == worker;
          return false;
        },
        each);
  });
  losing_ = true;
  survey_.Lost(worker);
  shards_.Lost(worker, incarnation, why);
  losing_ = false;
}

void RemoteUpdates::Begin() {
  if (survey_.running()) return;
  std::map<WorkerId, std::string> nodes;
  std::set<WorkerId> elsewhere;
  for (const auto& [worker, address] : ready_) {
    if (address.empty()) continue;
    nodes.emplace(worker, address);
    if (!ReachedOnlyFromHere(address)) elsewhere.insert(worker);
  }
  const bool chosen = options_.holders == JobOptions::Holders::kChosen;
  // Links lead to other machines. One worker alone has nobody to share with.
  if (chosen && (elsewhere.empty() || nodes.size() < 2)) return KeepStar();
  if (nodes.empty()) {
    return hooks_.failed(Status::Unavailable(
        "no worker can hold a part of the vector: a worker needs a processor for that, and a port "
        "at which others reach it; or use `reduce` star"));
  }
  // With two workers the shares make no difference, and for a short vector they make little.
  const bool measure = route_.end(route_.shards() - 1) >= kLongVector && nodes.size() > 2;
  if (chosen || measure) {
    return survey_.Start(nodes, elsewhere, chosen,
                         [this](const SurveyedLinks& links) { Choose(links); });
  }
  PlaceEqually();
}

void RemoteUpdates::PlaceEqually() {
  std::vector<WorkerId> nodes;
  for (const auto& [worker, address] : ready_) {
    if (!address.empty()) nodes.push_back(worker);
  }
  std::vector<WorkerId> owners;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    owners.push_back(nodes[shard * nodes.size() / route_.shards()]);
  }
  Place(owners);
}

// Each shard goes to the worker whose range has the shard's middle. So shares are kept to half a
// shard.
void RemoteUpdates::Choose(const SurveyedLinks& links) {
  notice::VectorPlaced placed;
  ReduceRequest request;
  const bool chosen = options_.holders == JobOptions::Holders::kChosen;
  request.mode.kind = chosen ? Reduce::kAuto : Reduce::kDirect;
  for (const auto& [worker, link] : links.workers) {
    const auto found = ready_.find(worker);
    if (found == ready_.end()) continue;
    if (ReachedOnlyFromHere(found->second) && !request.beside) request.beside = placed.nodes.size();
    placed.nodes.push_back(worker);
    request.exchange.workers.push_back(link);
  }
  if (placed.nodes.size() < 2) return chosen ? KeepStar() : PlaceEqually();
  request.floats = route_.end(route_.shards() - 1);
  placed.bytes = static_cast<double>(request.floats * sizeof(float));
  request.exchange.bytes = placed.bytes;
  request.exchange.followers = options_.followers;
  request.coordinator = links.coordinator;
  request.slice_bytes = static_cast<double>(options_.slice_length * sizeof(float));
  request.equal_within = kRoughly;
  request.rules.unit = std::max<uint64_t>(route_.size(0), 2);
  request.rules.most_ranges = route_.shards();
  if (chosen && links.unreached) {
    placed.unreached = links.unreached;
    request.mode.kind = Reduce::kStar;
  }
  Result<ReduceChoice> choice = ChooseReduction(request);
  if (!choice.ok()) return hooks_.failed(choice.status());
  placed.choice = *std::move(choice);
  hooks_.notice(placed);
  if (placed.choice.kind == Reduce::kStar) return KeepStar();
  std::vector<WorkerId> owners;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    const size_t middle = route_.begin(shard) + route_.size(shard) / 2;
    const auto range = std::find_if(placed.choice.ranges.begin(), placed.choice.ranges.end(),
                                    [middle](const ShardRange& each) { return middle < each.end; });
    owners.push_back(placed.nodes[range->owner]);
  }
  Place(owners);
}

void RemoteUpdates::Place(const std::vector<WorkerId>& owners) {
  shards_.Place(owners, ready_, hooks_.first());
}

void RemoteUpdates::KeepStar() {
  star_ = true;
  answers_.SetRemote(nullptr);
  hooks_.star();
  Drain();
}

void RemoteUpdates::Commit(const CommitStep& command, RemoteShards::Summed summed) {
  const bool approximately = command.approximately && !answers_.decodable(command.step);
  const auto closed = answers_.Close(command.step);
  if (!closed.ok()) return hooks_.failed(closed.status());
  hooks_.answered();
  shards_.EndSum(approximately, std::move(summed));
}

}  // namespace motley
