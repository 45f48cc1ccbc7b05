// SPDX-License-Identifier: Apache-2.0
// Where the vector of a job is summed: the part of job_plan.h that reads `reduce` and `followers`.
#include <algorithm>

#include "api/request/job_plan.h"
#include "collective/algorithm.h"
#include "fmt/core.h"
#include "scheduler/placement/reduction.h"

namespace motley {

Result<ReduceMode> ReadReduce(const std::string& option, const std::string& reduce) {
  const bool mpi = reduce == "mpi";
  if (mpi || FindCollective(reduce).ok()) {
    return Status::InvalidArgument(fmt::format(
        "{2} {0}: such a sum waits for every worker, and a job's steps do not wait for slow ones. "
        "A job can use auto, star, sharded:S or direct, and direct sends no more bytes than a "
        "ring. To compare the sums themselves, build Motley's benchmarks and run: {1}motley-sum "
        "--reduce {0}",
        reduce, mpi ? "mpirun -n 4 " : "", option));
  }
  Result<ReduceMode> mode = ParseReduce(reduce);
  if (!mode.ok()) return mode.status().WithContext(option);
  return mode;
}

namespace {

// Says why the server has the whole vector, which the request may never have asked for.
Status RefuseFollowers(const JobRequest& request, bool here, const JobOptions& job) {
  std::string why, instead;
  if (job.sync.one_each) {
    why = fmt::format("with `sync` {} the server holds all parameters", request.sync);
  } else if (request.reduce == "auto") {
    why = "all workers of this job are on one machine, so its server sums the vector alone";
    instead =
        ", or use `reduce` direct. If workers are on other machines (motley train --remote), auto "
        "takes `followers` as well";
  } else {
    why = "with `reduce` star the server holds all parameters";
    instead = here ? ", or use `reduce` direct" : ", or use `reduce` direct, sharded:S or auto";
  }
  return Status::InvalidArgument(
      fmt::format("`followers` {}: {}, and nothing has followers. Leave `followers` out{}",
                  *request.followers, why, instead));
}

}  // namespace

Status PlanReduction(const JobRequest& request, bool here, JobOptions& job) {
  MOTLEY_ASSIGN_OR_RETURN(const ReduceMode mode, ReadReduce("`reduce`", request.reduce));
  const bool chosen = mode.kind == Reduce::kAuto, sharded = mode.kind == Reduce::kSharded;
  // Updates of each worker's own need the parameters at the server.
  if (mode.kind == Reduce::kStar || (chosen && (here || job.sync.one_each))) {
    using Why = notice::StarKept::Why;
    if (chosen) job.star_kept = here ? Why::kHere : Why::kNoBarrier;
    return request.followers.value_or(0) == 0 ? Status::Ok() : RefuseFollowers(request, here, job);
  }
  const uint32_t followers = request.followers.value_or(1);
  if (followers > 3) {
    return Status::InvalidArgument(
        fmt::format("`followers` {}: from 0 to 3 are possible", followers));
  }
  if (mode.kind == Reduce::kDirect && job.workers < 2) {
    return Status::InvalidArgument("`reduce` direct: one worker alone has nobody to share with");
  }
  if (sharded && here) {
    return Status::InvalidArgument(fmt::format(
        "`reduce` {}: the workers of one machine share its memory, so shard servers would gain "
        "nothing. They are for jobs whose workers are on other machines (motley train --remote); "
        "leave `reduce` out",
        request.reduce));
  }
  using Holders = JobOptions::Holders;
  job.holders = chosen ? Holders::kChosen : sharded ? Holders::kShardServers : Holders::kWorkers;
  job.followers = followers;
  if (!here) job.shard_servers = sharded ? mode.servers : kMostShardServers;
  if (chosen) return Status::Ok();
  job.shards = sharded ? mode.servers : job.workers;
  return Status::Ok();
}

}  // namespace motley
