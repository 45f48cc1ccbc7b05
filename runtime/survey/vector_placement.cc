// SPDX-License-Identifier: Apache-2.0
#include "runtime/survey/vector_placement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "training/optimizers/optimizer_rule.h"
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

// Deals the shards out in turn, each owner as many as before. The gradient of a network is computed
// from its last layer to its first. So all owners get slices all the time, and no link is left
// unused while another one has several senders.
template <typename Owner>
std::vector<Owner> InTurn(const std::vector<Owner>& owner_of) {
  std::map<Owner, size_t> shares;
  for (const Owner& owner : owner_of) ++shares[owner];
  std::map<Owner, double> due;
  std::vector<Owner> dealt;
  while (dealt.size() < owner_of.size()) {
    for (const auto& [owner, share] : shares) due[owner] += static_cast<double>(share);
    const auto next = std::max_element(
        due.begin(), due.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    next->second -= static_cast<double>(owner_of.size());
    dealt.push_back(next->first);
  }
  return dealt;
}

}  // namespace

bool WorkersMayHold(const JobOptions& options, size_t floats) {
  if (options.holders == JobOptions::Holders::kChosen) return floats >= kLongVector;
  return options.holders == JobOptions::Holders::kWorkers;
}

uint32_t ShardsFor(const JobOptions& options, size_t floats) {
  if (!WorkersMayHold(options, floats)) return options.shards;
  // A multiple of the workers, so that equal shares are possible.
  const size_t most = std::min<size_t>(kMostFineShards, floats / kShortShard) / options.workers;
  const auto each = static_cast<uint32_t>(std::clamp<size_t>(most, 1, kShardsPerWorker));
  return std::max(options.shards, each * options.workers);
}

bool FollowersRead(const JobOptions& options) {
  return options.wire == WireFormat::kFloat32 && OptimizerVectors(options.optimizer.name) == 0;
}

VectorPlacement::VectorPlacement(Loop& loop, Transport& transport, const JobOptions& options,
                                 Route route, Hooks hooks)
    : options_(options),
      route_(std::move(route)),
      hooks_(std::move(hooks)),
      survey_(loop, transport, options.workers, hooks_.find) {}

void VectorPlacement::Decide(Owners owners) {
  if (survey_.running()) return;
  owners_ = std::move(owners);
  std::erase_if(owners_, [](const auto& owner) { return owner.second.empty(); });
  std::set<WorkerId> elsewhere;
  for (const auto& [worker, address] : owners_) {
    if (!ReachedOnlyFromHere(address)) elsewhere.insert(worker);
  }
  // Links lead to other machines. One worker alone has nobody to share with.
  if (choosing() && (elsewhere.empty() || owners_.size() < 2)) return KeepStar();
  // With two workers the shares make no difference, and for a short vector they make little.
  const bool matters = length() >= kLongVector && owners_.size() > 2;
  if (!choosing() && !matters) return PlaceEqually();
  survey_.Start(owners_, elsewhere, choosing(),
                [this](const SurveyedLinks& links) { Choose(links); });
}

void VectorPlacement::Lost(WorkerId worker) {
  owners_.erase(worker);
  survey_.Lost(worker);
}

void VectorPlacement::KeepStar() {
  star_ = true;
  survey_.Disband();
  hooks_.star();
}

void VectorPlacement::PlaceEqually() {
  if (owners_.empty()) {
    return hooks_.failed(Status::Unavailable(
        "no worker can hold a part of the vector: a worker needs a processor for that, and a port "
        "at which others reach it; or use `reduce` star"));
  }
  std::vector<WorkerId> workers;
  for (const auto& [worker, address] : owners_) workers.push_back(worker);
  std::vector<WorkerId> by_shard;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    by_shard.push_back(workers[shard * workers.size() / route_.shards()]);
  }
  hooks_.placed(InTurn(by_shard));
}

// A worker gets as many shards as have their middle in its range. So shares are right to half a
// shard.
void VectorPlacement::Choose(const SurveyedLinks& links) {
  notice::VectorPlaced placed;
  ReduceRequest request;
  request.mode.kind = choosing() ? Reduce::kAuto : Reduce::kDirect;
  for (const auto& [worker, address] : owners_) {
    const auto link = links.workers.find(worker);
    if (link == links.workers.end()) continue;  // It did not report.
    if (ReachedOnlyFromHere(address) && !request.beside) request.beside = placed.nodes.size();
    placed.nodes.push_back(worker);
    // A rate of 0 would mean an unlimited link.
    const bool carries = link->second.up > 0 && link->second.down > 0;
    request.exchange.may_own.push_back(carries);
    request.exchange.workers.push_back(
        {std::max(link->second.up, 1.0), std::max(link->second.down, 1.0)});
  }
  // The workers that were lost will come again, or others.
  if (owners_.empty()) return;
  const bool measured = links.coordinator.up > 0 && links.coordinator.down > 0;
  if (choosing() && (placed.nodes.size() < 2 || !measured)) return KeepStar();
  if (placed.nodes.size() < 2) return PlaceEqually();
  placed.bytes = static_cast<double>(length() * sizeof(float));
  request.floats = length();
  request.exchange.bytes = static_cast<double>(WireBytes(options_.wire, length()));
  if (!FollowersRead(options_)) {
    // Sums for followers travel as float32.
    const double times = placed.bytes / request.exchange.bytes;
    request.exchange.followers = static_cast<uint32_t>(std::ceil(options_.followers * times));
  }
  request.coordinator = links.coordinator;
  request.slice_bytes = static_cast<double>(WireBytes(options_.wire, options_.slice_length));
  request.equal_within = kRoughly;
  request.rules.most_ranges = route_.shards();
  if (choosing() && links.unreached) {
    placed.unreached = links.unreached;
    request.mode.kind = Reduce::kStar;
  }
  Result<ReduceChoice> choice = ChooseReduction(request);
  if (!choice.ok()) return hooks_.failed(choice.status());
  placed.choice = *std::move(choice);
  if (placed.choice.kind == Reduce::kStar) {
    hooks_.notice(placed);
    return KeepStar();
  }
  const std::vector<ShardRange> wanted = std::exchange(placed.choice.ranges, {});
  std::vector<WorkerId> owners;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    const size_t middle = route_.begin(shard) + route_.size(shard) / 2;
    const auto range = std::find_if(wanted.begin(), wanted.end(),
                                    [middle](const ShardRange& each) { return middle < each.end; });
    owners.push_back(range->owner);
  }
  std::vector<WorkerId> by_shard;
  for (const WorkerId owner : InTurn(owners)) {
    const size_t shard = by_shard.size();
    placed.choice.ranges.push_back({owner, route_.begin(shard), route_.end(shard)});
    by_shard.push_back(placed.nodes[owner]);
  }
  hooks_.notice(placed);
  hooks_.placed(by_shard);
}

}  // namespace motley
