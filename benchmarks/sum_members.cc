// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_members.h"

#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "benchmarks/sum_direct.h"
#include "benchmarks/sum_mpi.h"
#include "collective/collective.h"
#include "collective/groups.h"
#include "collective/mesh.h"
#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "training/trainers/trainer.h"
#include "transport/channel/stream_transport.h"

namespace motley {
namespace {

Groups ReadTopology(const std::string& path, uint32_t members) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) Die(fmt::format("--topology {}: cannot read it", path));
  auto groups = ParseTopology(text, members);
  if (!groups.ok()) Die(fmt::format("--topology {}: {}", path, groups.status().ToString()));
  return *std::move(groups);
}

Groups GroupsOf(const SumTask& task, const MemberTask& members) {
  if (!members.topology.empty()) return ReadTopology(members.topology, task.workers);
  if (members.groups.empty()) {  // Two halves.
    Groups halves(2);
    for (Rank rank = 0; rank < task.workers; ++rank) {
      halves[2 * rank < task.workers ? 0 : 1].push_back(rank);
    }
    if (halves[1].empty()) halves.pop_back();
    return halves;
  }
  if (members.groups == "latency") return SingleMembers(task.workers);  // Until it is measured.
  auto groups = ParseGroups(members.groups, task.workers);
  if (!groups.ok()) Die(groups.status().ToString());
  return *std::move(groups);
}

// Each repetition has three updates: a barrier, the sum that is timed, and the exchange of times.
class Member {
 public:
  Member(UvLoop& loop, const SumTask& task, const MemberTask& members, uint32_t rank)
      : loop_(loop),
        task_(task),
        members_(members),
        rank_(rank),
        algorithm_(Found(members.reduce)),
        options_{.groups = GroupsOf(task, members)},
        transport_(MakeStreamTransport(loop.handle())),
        by_latency_(members.groups == "latency"),
        mesh_(loop, *transport_,
              {.rank = rank, .addresses = members.addresses, .pings = by_latency_ ? 9U : 0U},
              [this](const Result<Members>& connected) { OnReady(connected); }),
        vector_(std::make_shared<Contribution>()) {
    vector_->vector.resize(members.reduce == kDirectSum ? VectorLength(task.length) : task.length);
  }
  ~Member() { transport_->Close(); }

  void Run() {
    if (const Status started = mesh_.Start(); !started.ok()) Die(started.ToString());
    loop_.Run();
    if (rank_ != 0) return;
    seconds_.erase(seconds_.begin(), seconds_.begin() + static_cast<ptrdiff_t>(task_.warmups));
    PrintTimes(task_, seconds_, "");
  }

 private:
  // Beside a direct sum, a collective is the barrier and exchanges the times.
  static const CollectiveAlgorithm& Found(const std::string& name) {
    const auto found = FindCollective(name == kDirectSum ? "butterfly" : name);
    if (!found.ok()) {
      Die(fmt::format("{}, {}, {}", found.status().ToString(), kDirectSum, kMpiSum));
    }
    return **found;
  }

  void OnReady(const Result<Members>& connected) {
    if (!connected.ok()) Die(connected.status().ToString());
    auto made = Collective::Create(loop_, *transport_, algorithm_, *connected, options_);
    if (!made.ok()) Die(made.status().ToString());
    collective_ = *std::move(made);
    mesh_.Use(*collective_);
    if (members_.reduce == kDirectSum) {
      direct_ = std::make_unique<DirectSum>(*transport_, mesh_, task_, *connected, members_.shares,
                                            vector_->vector);
      transport_->SetReceiver(direct_.get());
    }
    if (by_latency_) return GroupByLatency(connected->round_trips);
    Prepare();
  }
  // Each member has measured those before it. The sum of their tables is the same for all.
  void GroupByLatency(const std::vector<Duration>& round_trips) {
    const uint32_t n = task_.workers;
    auto table = std::make_shared<Contribution>();
    table->beside.resize(size_t{n} * n);
    for (Rank other = 0; other < n; ++other) {
      table->beside[size_t{rank_} * n + other] = ToSeconds(round_trips[other]);
    }
    Sum(table, [this, table] {
      const Status fits = collective_->SetGroups(GroupsByLatency(table->beside, task_.workers));
      if (!fits.ok()) Die(fits.ToString());
      Prepare();
    });
  }
  void Prepare() {
    if (repetition_ == task_.repetitions + task_.warmups) return loop_.Stop();
    if (is_worker()) {
      for (size_t i = 0; i < task_.length; ++i) {
        vector_->vector[i] = ValueOf(i, rank_, repetition_);
      }
    }
    if (direct_ != nullptr) direct_->Open(repetition_);
    Sum(std::make_shared<Contribution>(Contribution{{}, {1}}), [this] {
      begin_ = NowNs();
      auto then = [this] { ExchangeTimes(NowNs()); };
      if (direct_ != nullptr) return direct_->Start(then);
      Sum(vector_, then);
    });
  }
  bool is_worker() const { return rank_ < task_.workers; }
  void ExchangeTimes(uint64_t end) {
    auto times = std::make_shared<Contribution>();
    times->beside.resize(2 * size_t{task_.workers});  // Each worker sets its own two.
    if (is_worker()) {
      CheckSum(task_, vector_->vector, repetition_,
               direct_ != nullptr ? direct_->cut() : Slicing(task_.length, task_.length));
      times->beside[rank_] = static_cast<double>(begin_);
      times->beside[task_.workers + rank_] = static_cast<double>(end);
    }
    Sum(times, [this, times] {
      const auto ends = times->beside.begin() + task_.workers;
      const double first = *std::min_element(times->beside.begin(), ends);
      seconds_.push_back((*std::max_element(ends, times->beside.end()) - first) * 1e-9);
      ++repetition_;
      Prepare();
    });
  }
  void Sum(std::shared_ptr<Contribution> values, Function<void()> then) {
    collective_->Contribute(++update_, std::move(values),
                            [next = std::move(then)](const Status& status) {
                              if (!status.ok()) Die(status.ToString());
                              next();
                            });
  }

  UvLoop& loop_;
  const SumTask task_;
  const MemberTask members_;
  const uint32_t rank_;
  const CollectiveAlgorithm& algorithm_;
  const CollectiveOptions options_;
  std::unique_ptr<Collective> collective_;
  std::unique_ptr<Transport> transport_;
  const bool by_latency_;
  Mesh mesh_;
  std::shared_ptr<Contribution> vector_;
  std::unique_ptr<DirectSum> direct_;  // Null: the collective sums.
  uint64_t repetition_ = 0;
  uint64_t update_ = 0;
  uint64_t begin_ = 0;
  std::vector<double> seconds_;
};

// Addresses that are free at the moment.
std::vector<std::string> FreeAddresses(const SumTask& task, uint32_t count) {
  const auto loop = UvLoop::Create();
  if (!loop.ok()) Die(loop.status().ToString());
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::string> addresses;
  for (uint32_t i = 0; i < count; ++i) {
    transports.push_back(MakeStreamTransport((*loop)->handle()));
    const auto address = transports.back()->Listen(task.listen);
    if (!address.ok()) Die(address.status().ToString());
    addresses.push_back(*address);
  }
  transports.clear();
  return addresses;
}

}  // namespace

void RunMember(const SumTask& task, const MemberTask& members, uint32_t rank) {
  const auto loop = UvLoop::Create();
  if (!loop.ok()) Die(loop.status().ToString());
  Member(**loop, task, members, rank).Run();
}

void RunLocalMembers(const SumTask& task, MemberTask members) {
  const uint32_t count = task.workers + members.spares;
  if (members.reduce != kDirectSum) GroupsOf(task, members);  // Reports a mistake only once.
  members.addresses = FreeAddresses(task, count);
  std::vector<pid_t> children;
  for (uint32_t rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    if (child < 0) Die("no process");
    if (child == 0) {
      RunMember(task, members, rank);
      _exit(0);
    }
    children.push_back(child);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    failed |= waitpid(child, &status, 0) != child || status != 0;
  }
  if (failed) Die("a member failed");
}

}  // namespace motley
