// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sim_bench.h"

#include "base/virtual_loop.h"
#include "fmt/core.h"
#include "sim/sim_cluster.h"

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

// Timers that set the next one: what a loop does besides the work in its tasks.
double EmptyTasksPerSecond(uint64_t tasks) {
  VirtualLoop loop;
  uint64_t left = tasks;
  std::function<void()> next = [&] {
    if (--left > 0) loop.After(std::chrono::microseconds(1), next);
  };
  return static_cast<double>(tasks) / SecondsOf([&] {
           loop.Post(next);
           while (loop.RunOne()) continue;
         });
}

}  // namespace

Result<std::vector<BenchLine>> BenchSimEvents(const BenchOptions& options) {
  SimOptions sim = Cluster(options.full ? 64 : 8, options.full ? 200 : 20);
  const Dataset data = MakeSyntheticDataset(2048, 16, 4, 1);
  sim.job.model.features = data.features;
  sim.job.model.classes = data.classes;
  Result<SimResult> result = Status::Internal("not run");
  const double seconds = SecondsOf([&] { result = Simulate(sim, data, nullptr); });
  if (!result.ok()) return result.status();
  MOTLEY_RETURN_IF_ERROR(result->job.status);
  if (!result->violations.empty() || result->job.steps != sim.job.steps) {
    return Status::Internal(result->violations.empty() ? "steps are missing"
                                                       : result->violations.front());
  }
  const std::string what = fmt::format("{} workers, {} steps", sim.job.workers, sim.job.steps);
  const double tasks = static_cast<double>(result->tasks_run);
  return std::vector<BenchLine>{
      {what, "tasks/s", tasks / seconds, "empty tasks", EmptyTasksPerSecond(100000)},
      {what, "virtual s/s", result->virtual_seconds / seconds, "real time", 1}};
}

}  // namespace motley
