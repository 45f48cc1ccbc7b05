// SPDX-License-Identifier: Apache-2.0
#include "runtime/survey/vector_placement.h"

#include <algorithm>
#include <utility>

#include "training/optimizers/optimizer_rule.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

// Below this length (floats, 1 MiB) messages and latencies take longer than bytes do.
constexpr size_t kLongVector = size_t{1} << 18;
constexpr double kRoughly = 0.1;  // Measurements of links differ by this much.
// A link that carries less than this part of what the others could send is full.
constexpr double kFilled = 0.75;
// Each shard costs a few messages in every step, so there are not many, and none of them is short.
constexpr uint32_t kShardsPerNode = 4;
constexpr size_t kMostFineShards = 64;
constexpr size_t kShortShard = size_t{1} << 16;
// Workers that join get their shards one after the other (ShardMoves), each within so many updates.
// A move takes more of them if followers need a copy.
constexpr double kUpdatesOfMove = 4, kUpdatesOfCopiedMove = 8;

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

// "host:port" without its port.
std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool OnOneHost(const VectorPlacement::Owners& owners) {
  return std::all_of(owners.begin(), owners.end(), [&](const auto& owner) {
    return HostOf(owner.second) == HostOf(owners.begin()->second);
  });
}

size_t Modelled(const JobOptions& options, size_t floats) {
  return options.modelled_floats > 0 ? options.modelled_floats : floats;
}

// Followers read the new values, so owners send them no sums.
bool Reads(const JobOptions& options, const Exchange& exchange) {
  return FollowersRead(options) && exchange.servers.empty();
}

// Exchange::followers. Sums for followers travel as float32, and nobody follows its own part.
double SumsForFollowers(const JobOptions& options, const ReduceRequest& request) {
  const Exchange& exchange = request.exchange;
  if (Reads(options, exchange) || exchange.nodes() == 0) return 0;
  const auto others = static_cast<double>(exchange.nodes() - 1);
  const double bytes = static_cast<double>(request.floats) * sizeof(float);
  return std::min<double>(options.followers, others) * bytes / exchange.bytes;
}

// The request with all workers of the job. Those that have not joined yet have the mean link, and
// own parts if `own`. A link of the server that the others have filled may carry no more. Otherwise
// nobody knows how much it can carry, and nothing is assumed against the server.
ReduceRequest WithAll(ReduceRequest request, const JobOptions& options, bool own) {
  std::vector<NodeLink>& links = request.exchange.workers;
  if (links.size() >= options.workers) return request;
  NodeLink sum;
  for (size_t i = 0; i < links.size(); ++i) {
    if (request.beside == i) continue;
    sum.up += links[i].up;
    sum.down += links[i].down;
  }
  const auto others = static_cast<double>(links.size()) - (request.beside ? 1 : 0);
  const double elsewhere = std::max(1.0, others);
  if (request.coordinator.down > kFilled * sum.up) request.coordinator.down = 0;
  if (request.coordinator.up > kFilled * sum.down) request.coordinator.up = 0;
  links.resize(options.workers, {sum.up / elsewhere, sum.down / elsewhere});
  request.exchange.may_own.resize(options.workers, own);
  request.exchange.followers = SumsForFollowers(options, request);
  return request;
}

// The part of the steps from this one on in which shards still move to workers that join later.
double MovingPart(const JobOptions& options, uint64_t first_step, const ReduceRequest& request) {
  const double all = options.workers;
  const auto there = static_cast<double>(request.exchange.workers.size());
  const double moves = request.rules.most_ranges * (all - there) / all;
  const bool reads = Reads(options, request.exchange);
  const double updates = moves * (reads ? kUpdatesOfMove : kUpdatesOfCopiedMove);
  const uint64_t steps = std::max(options.steps, first_step + 1) - first_step;
  return std::min(1.0, updates / static_cast<double>(steps));
}

// Returns the star unless `choice` is also worth it with all workers of the job. A step in which
// shards still move counts as one in which workers that join later own nothing. It takes less.
Result<ReduceChoice> ForAll(ReduceChoice choice, ReduceRequest request, const JobOptions& options,
                            uint64_t first_step) {
  const double moving = MovingPart(options, first_step, request);
  request.mode.kind = choice.kind;
  MOTLEY_ASSIGN_OR_RETURN(const ReduceChoice first,
                          ChooseReduction(WithAll(request, options, false)));
  MOTLEY_ASSIGN_OR_RETURN(const ReduceChoice later,
                          ChooseReduction(WithAll(request, options, true)));
  const double mean = moving * first.cost.Total() + (1 - moving) * later.cost.Total();
  if (mean < kWorthLeavingStar * later.reason.star.Total()) return choice;
  ReduceChoice star;
  star.cost = star.reason.star = later.reason.star;
  star.reason.kind = ReduceReason::Kind::kNoGain;
  star.reason.other.exchange.total = mean;
  return star;
}

}  // namespace

bool OthersMayHold(const JobOptions& options, size_t floats) {
  floats = Modelled(options, floats);
  if (options.holders == JobOptions::Holders::kChosen) return floats >= kLongVector;
  return options.holders != JobOptions::Holders::kServer;
}

uint32_t ShardsFor(const JobOptions& options, size_t floats) {
  if (!OthersMayHold(options, floats)) return options.shards;
  floats = Modelled(options, floats);
  using Holders = JobOptions::Holders;
  const uint32_t owners =
      options.holders == Holders::kShardServers ? options.shard_servers : options.workers;
  const auto most = static_cast<uint32_t>(std::min<size_t>(kMostFineShards, floats / kShortShard));
  if (options.holders == Holders::kChosen) {  // Nobody knows yet how many of them come.
    return std::max({options.shards, 1U, std::min(most, kShardsPerNode * owners)});
  }
  // A multiple of the owners, so that equal shares are possible.
  const uint32_t each = std::clamp(most / owners, 1U, kShardsPerNode);
  return std::max(options.shards, each * owners);
}

bool FollowersRead(const JobOptions& options) {
  return options.wire == WireFormat::kFloat32 && OptimizerVectors(options.optimizer.name) == 0;
}

VectorPlacement::VectorPlacement(Loop& loop, Transport& transport, const JobOptions& options,
                                 Route route, uint64_t first_step, Hooks hooks)
    : options_(options),
      route_(std::move(route)),
      first_step_(first_step),
      hooks_(std::move(hooks)),
      survey_(loop, transport, options.places(), hooks_.find) {}

void VectorPlacement::Decide(Owners owners) {
  if (survey_.running()) {
    newest_ = std::move(owners);
    return;
  }
  newest_.clear();
  owners_ = std::move(owners);
  std::erase_if(owners_, [](const auto& owner) { return owner.second.empty(); });
  if (!sharded()) LeaveOutNeighbours();
  // The job waits for shard servers that were lost (AwaitedServers).
  if (sharded() && Usual().empty()) return;
  std::set<WorkerId> elsewhere;
  for (const auto& [worker, address] : owners_) {
    if (!ReachedOnlyFromHere(address)) elsewhere.insert(worker);
  }
  // Links lead to other machines. One worker alone has nobody to share with.
  if (choosing() && elsewhere.empty()) return KeepStar(notice::StarKept::Why::kHere);
  if (choosing() && owners_.size() < 2) return KeepStar(notice::StarKept::Why::kAlone);
  // With two workers, or with one shard server, the shares make no difference. For a short vector
  // they make little, and within a machine no link is in the way.
  const bool several = sharded() ? Usual().size() > 1 : owners_.size() > 2;
  const bool matters = length() >= kLongVector && several && !OnOneHost(owners_);
  if (!choosing() && !matters) return PlaceEqually();
  survey_.Start(owners_, elsewhere, choosing(),
                [this](const SurveyedLinks& links) { Choose(links); });
}

uint64_t VectorPlacement::length() const { return Modelled(options_, route_length()); }

void VectorPlacement::Lost(WorkerId worker) {
  owners_.erase(worker);
  newest_.erase(worker);
  survey_.Lost(worker);
  if (!known_) return;
  known_->workers.erase(worker);  // Another one may take its place.
  known_->servers.erase(worker);
}

// `why`: nothing was measured, so no other notice says it.
void VectorPlacement::KeepStar(std::optional<notice::StarKept::Why> why) {
  star_ = true;
  if (why) hooks_.notice(notice::StarKept{*why, static_cast<double>(length() * sizeof(float))});
  survey_.Disband();
  hooks_.star();
}

// A shard server on a worker's machine has no link of its own, so it is no gain beside the worker.
void VectorPlacement::LeaveOutNeighbours() {
  std::set<std::string> hosts;
  for (const auto& [node, address] : owners_) {
    if (computes(node)) hosts.insert(HostOf(address));
  }
  std::erase_if(owners_, [&](const auto& owner) {
    return !computes(owner.first) && hosts.contains(HostOf(owner.second));
  });
}

// The nodes that own equal parts if nothing was measured.
std::vector<WorkerId> VectorPlacement::Usual() const {
  std::vector<WorkerId> usual;
  for (const auto& [node, address] : owners_) {
    if (computes(node) != sharded()) usual.push_back(node);
  }
  return usual;
}

void VectorPlacement::PlaceEqually() {
  const std::vector<WorkerId> nodes = Usual();
  if (nodes.empty()) {
    return hooks_.failed(Status::Unavailable(
        "no worker can hold a part of the vector: a worker needs a processor for that, and a port "
        "at which others reach it; or use `reduce` star"));
  }
  std::vector<WorkerId> by_shard;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    by_shard.push_back(nodes[shard * nodes.size() / route_.shards()]);
  }
  hooks_.placed(InTurn(by_shard));
}

ReduceRequest VectorPlacement::RequestFor(const SurveyedLinks& links,
                                          notice::VectorPlaced& placed) const {
  ReduceRequest request;
  request.mode.kind = choosing() ? Reduce::kAuto : Reduce::kDirect;
  if (sharded()) request.mode = {Reduce::kSharded, options_.shard_servers};
  for (const auto& [node, address] : owners_) {  // Workers come before shard servers.
    const auto link = links.workers.find(node);
    if (link == links.workers.end()) continue;  // It did not report.
    // A rate of 0 would mean an unlimited link.
    const bool carries = link->second.up > 0 && link->second.down > 0;
    const NodeLink rates = {std::max(link->second.up, 1.0), std::max(link->second.down, 1.0)};
    if (computes(node)) {
      if (ReachedOnlyFromHere(address) && !request.beside) request.beside = placed.nodes.size();
      request.exchange.may_own.push_back(carries);
      request.exchange.workers.push_back(rates);
    } else if (carries) {
      request.exchange.servers.push_back(rates);
    } else {
      continue;
    }
    placed.nodes.push_back(node);
  }
  placed.bytes = static_cast<double>(length() * sizeof(float));
  request.floats = length();
  request.exchange.bytes = static_cast<double>(WireBytes(options_.wire, length()));
  request.exchange.followers = SumsForFollowers(options_, request);
  request.coordinator = links.coordinator;
  const bool modelled = options_.modelled_floats > 0;
  const size_t slice = modelled ? JobOptions().slice_length : options_.slice_length;
  request.slice_bytes = static_cast<double>(WireBytes(options_.wire, slice));
  request.equal_within = kRoughly;
  request.rules.most_ranges = route_.shards();
  return request;
}

// A node gets as many shards as have their middle in its range. So shares are right to half a
// shard.
void VectorPlacement::Choose(const SurveyedLinks& links) {
  notice::VectorPlaced placed;
  ReduceRequest request = RequestFor(links, placed);
  const Exchange& exchange = request.exchange;
  // The nodes that were lost will come again, or others. Some may have come already.
  if (Usual().empty()) {
    if (!newest_.empty()) Decide(std::exchange(newest_, {}));
    return;
  }
  const bool enough = placed.nodes.size() > 1 && !exchange.workers.empty() &&
                      (!sharded() || !exchange.servers.empty());
  const bool measured = links.coordinator.up > 0 && links.coordinator.down > 0;
  if (choosing() && Usual().size() < 2) return KeepStar(notice::StarKept::Why::kAlone);
  if (choosing() && (!enough || !measured)) return KeepStar(notice::StarKept::Why::kUnmeasured);
  if (!enough) return PlaceEqually();
  if (choosing() && links.unreached) {
    placed.unreached = links.unreached;
    request.mode.kind = Reduce::kStar;
  }
  Result<ReduceChoice> choice = ChooseReduction(request);
  // Two workers that are there first must not decide for eight that come.
  if (choosing() && choice.ok() && choice->kind != Reduce::kStar) {
    choice = ForAll(*std::move(choice), request, options_, first_step_);
  }
  if (!choice.ok()) return hooks_.failed(choice.status());
  placed.choice = *std::move(choice);
  if (placed.choice.kind == Reduce::kStar) {
    hooks_.notice(placed);
    return KeepStar(std::nullopt);
  }
  // Each float of the route stands for so many.
  const double each = static_cast<double>(length()) / static_cast<double>(route_length());
  const std::vector<ShardRange> wanted = std::exchange(placed.choice.ranges, {});
  std::vector<WorkerId> owners;
  for (size_t shard = 0; shard < route_.shards(); ++shard) {
    const size_t middle = route_.begin(shard) + route_.size(shard) / 2;
    const auto range =
        std::find_if(wanted.begin(), wanted.end(), [middle, each](const ShardRange& wide) {
          return each * static_cast<double>(middle) < static_cast<double>(wide.end);
        });
    owners.push_back(range->owner);
  }
  std::vector<WorkerId> by_shard;
  for (const WorkerId owner : InTurn(owners)) {
    const size_t shard = by_shard.size();
    placed.choice.ranges.push_back({owner, route_.begin(shard), route_.end(shard)});
    by_shard.push_back(placed.nodes[owner]);
  }
  hooks_.notice(placed);
  known_.emplace();
  for (size_t i = 0; i < placed.nodes.size(); ++i) {
    const size_t n = exchange.workers.size();
    if (i < n) known_->workers[placed.nodes[i]] = exchange.workers[i];
    if (i >= n) known_->servers[placed.nodes[i]] = exchange.servers[i - n];
  }
  known_->bytes = exchange.bytes;
  known_->followers = exchange.followers;
  hooks_.placed(by_shard);
}

std::optional<OwnersPlaced> VectorPlacement::TakeNews(const std::map<WorkerId, double>& parts) {
  if (!known_ || known_->parts == parts) return std::nullopt;
  known_->parts = parts;
  return known_;
}

}  // namespace motley
