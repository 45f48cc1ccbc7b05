// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/sim_bench.h"

#include <algorithm>
#include <functional>

#include "base/loop/virtual_loop.h"
#include "fmt/core.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_network.h"

namespace motley {
namespace {

SimOptions Cluster(uint32_t workers, uint64_t steps) {
  SimOptions options;
  options.job.model.name = "softmax";
  options.job.workers = workers;
  options.job.batch = 128;
  options.job.steps = steps;
  options.job.code = "heterogeneous";
  options.job.tolerate = 1;
  for (uint32_t i = 0; i < workers; ++i) {
    WorkerProfile worker;
    worker.device.name = fmt::format("worker-{}", i);
    worker.device.samples_per_second = 50.0 * (1 + i % 4);
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// Timers that set the next one: the cost of the loop without the work in its tasks.
double EmptyTasksPerSecond(uint64_t tasks) {
  VirtualLoop loop;
  uint64_t left = tasks;
  std::function<void()> next = [&] {
    if (--left > 0) loop.After(std::chrono::microseconds(1), next);
  };
  return static_cast<double>(tasks) / ProcessorSecondsOf([&] {
           loop.Post(next);
           while (loop.RunOne()) continue;
         });
}

// Returns each message until `left` is 0.
class Echo final : public Receiver {
 public:
  Echo(Transport& transport, uint64_t& left) : transport_(transport), left_(left), buffer_(64) {}

  void OnConnected(PeerId peer, const PeerIdentity&) override { peer_ = peer; }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    return std::span(buffer_).first(header.length);
  }
  void OnPayloadDone(PeerId, const Header&, bool) override {
    if (left_ > 0) Send();
  }
  void OnLost(PeerId, const Status&) override {}

  void Send() {
    --left_;
    Header header;
    header.kind = FrameKind::kControl;
    const BytesView piece(buffer_);
    transport_.Send(peer_, header, {&piece, 1}, Priority::kControl, [](const Status&) {});
  }
  PeerId peer() const { return peer_; }

 private:
  Transport& transport_;
  uint64_t& left_;
  PeerId peer_ = 0;
  Bytes buffer_;
};

// Small messages between two processes: the loop and the network, without nodes.
Result<double> NetworkTasksPerSecond(uint64_t messages) {
  VirtualLoop world;
  NodeLoop here(world);
  NodeLoop there(world);
  SimNetwork network(1);
  const auto left_end = network.MakeTransport(here);
  const auto right_end = network.MakeTransport(there);
  uint64_t left = messages;
  Echo server(*left_end, left);
  Echo client(*right_end, left);
  left_end->SetReceiver(&server);
  right_end->SetReceiver(&client);
  MOTLEY_ASSIGN_OR_RETURN(const std::string address, left_end->Listen("server:1"));
  right_end->Connect(address);
  while (world.RunOne()) continue;
  const uint64_t before = world.tasks_run();
  const double seconds = ProcessorSecondsOf([&] {
    client.Send();
    while (world.RunOne()) continue;
  });
  if (left != 0) return Status::Internal("messages are missing");
  const double rate = static_cast<double>(world.tasks_run() - before) / seconds;
  left_end->Close();
  right_end->Close();
  return rate;
}

// The best of some runs, which must all do the same.
Status AddCluster(const BenchOptions& options, SimTrainer trainer, uint32_t workers, uint64_t steps,
                  std::vector<BenchLine>& lines) {
  SimOptions sim = Cluster(workers, steps);
  sim.trainer = trainer;
  sim.cluster.gradient_bytes = 1 << 20;
  const Dataset data = MakeSyntheticDataset(2048, 16, 4, 1);
  sim.job.model.features = data.features;
  sim.job.model.classes = data.classes;
  double seconds = 0;
  double empty = 0;
  uint64_t digest = 0;
  Result<SimResult> result = Status::Internal("not run");
  for (int run = 0; run < (options.full ? 5 : 2); ++run) {
    const double took = ProcessorSecondsOf([&] { result = Simulate(sim, data, nullptr); });
    if (!result.ok()) return result.status();
    MOTLEY_RETURN_IF_ERROR(result->job.status);
    if (!result->violations.empty() || result->job.steps != sim.job.steps) {
      return Status::Internal(result->violations.empty() ? "steps are missing"
                                                         : result->violations.front());
    }
    if (run > 0 && result->digest != digest) return Status::Internal("two runs of a seed differ");
    digest = result->digest;
    seconds = run == 0 ? took : std::min(seconds, took);
    empty = std::max(empty, EmptyTasksPerSecond(100000));
  }
  const std::string what =
      fmt::format("{}, {} workers, {} steps",
                  trainer == SimTrainer::kCostOnly ? "cost-only" : "softmax", workers, steps);
  const double tasks = static_cast<double>(result->tasks_run);
  lines.push_back({what, "tasks/s", tasks / seconds, "empty tasks", empty});
  lines.push_back({what, "virtual s/s", result->virtual_seconds / seconds, "real time", 1});
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchSimEvents(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  for (const SimTrainer trainer : {SimTrainer::kCostOnly, SimTrainer::kBuiltIn}) {
    MOTLEY_RETURN_IF_ERROR(AddCluster(options, trainer, 8, options.full ? 1000 : 20, lines));
    if (options.full) MOTLEY_RETURN_IF_ERROR(AddCluster(options, trainer, 64, 200, lines));
  }
  MOTLEY_ASSIGN_OR_RETURN(const double network,
                          NetworkTasksPerSecond(options.full ? 300'000 : 10'000));
  lines.push_back({"messages of 64 bytes, no nodes", "tasks/s", network, "empty tasks",
                   EmptyTasksPerSecond(100000)});
  return lines;
}

}  // namespace motley
