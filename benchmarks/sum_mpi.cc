// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/sum_mpi.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "collective/mpi/mpi_group.h"
#include "devices/drivers/modules.h"
#include "fmt/core.h"

namespace motley {
namespace {

void Sum(MpiGroup& group, Contribution& values) {
  if (const Status status = group.Sum(values); !status.ok()) Die(status.ToString());
}

// The seconds from the first member's start to the last one's sum.
double TimeOne(MpiGroup& group, const SumTask& task, uint64_t repetition, Contribution& values) {
  for (size_t i = 0; i < task.length; ++i) {
    values.vector[i] = ValueOf(i, group.rank(), repetition);
  }
  Contribution barrier{{}, {1}};
  Sum(group, barrier);
  const uint64_t begin = NowNs();
  Sum(group, values);
  const uint64_t end = NowNs();
  CheckSum(task, values.vector, repetition, Slicing(task.length, task.length));
  Contribution times;
  times.beside.resize(2 * size_t{task.workers});  // Each member sets its own two.
  times.beside[group.rank()] = static_cast<double>(begin);
  times.beside[task.workers + group.rank()] = static_cast<double>(end);
  Sum(group, times);
  const auto ends = times.beside.begin() + task.workers;
  return (*std::max_element(ends, times.beside.end()) -
          *std::min_element(times.beside.begin(), ends)) *
         1e-9;
}

}  // namespace

void RunMpiMember(SumTask task) {
  const auto joined = MpiGroup::Join(ModuleFolders());
  if (!joined.ok()) Die(joined.status().ToString());
  MpiGroup& group = **joined;
  if (task.workers != 0 && task.workers != group.count()) {
    Die(fmt::format("--workers {}, and mpirun started {} processes", task.workers, group.count()));
  }
  task.workers = group.count();
  Contribution values;
  values.vector.resize(task.length);
  std::vector<double> seconds;
  for (uint64_t repetition = 0; repetition < task.repetitions + task.warmups; ++repetition) {
    const double time = TimeOne(group, task, repetition, values);
    if (repetition >= task.warmups) seconds.push_back(time);
  }
  if (group.rank() == 0) PrintTimes(task, seconds, "");
}

}  // namespace motley
