// SPDX-License-Identifier: Apache-2.0
#include "runtime/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/dataset.h"
#include "data/index_source.h"
#include "scheduler/step/pieces.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

constexpr uint64_t kPartitionBytes = uint64_t{256} << 20;

}  // namespace

OptimizerOptions OptimizerOf(const JobOptions& options) {
  OptimizerOptions optimizer = options.optimizer;
  if (options.sync.own_momentum) optimizer.states = options.workers;
  optimizer.old_gradients = options.old_gradients;
  return optimizer;
}

Result<uint32_t> PartitionCount(uint64_t samples, uint32_t workers) {
  if (workers == 0) return Status::InvalidArgument("a job needs at least one worker");
  if (samples < workers) {
    return Status::InvalidArgument(
        fmt::format("{} workers for {} training samples: each worker needs at least one sample; "
                    "use fewer workers or more data",
                    workers, samples));
  }
  const uint64_t wanted = std::max(kPartitionsPerWorker * workers, kLeastPartitions);
  return static_cast<uint32_t>(std::min(wanted, samples));
}

Result<uint32_t> PartitionCount(const DataShape& data, uint32_t workers) {
  MOTLEY_ASSIGN_OR_RETURN(const uint32_t smooth, PartitionCount(data.rows, workers));
  if (CallerOwned(data)) return smooth;
  const uint64_t bytes =
      BlockBytes(data.rows, data.features, data.sparse, data.entries, data.storage);
  const uint64_t small = bytes / kPartitionBytes + 1;
  const uint64_t wanted = std::min<uint64_t>(std::max<uint64_t>(smooth, small), kMaxPartitions);
  return static_cast<uint32_t>(std::min(wanted, data.rows));
}

uint64_t LargestPartitionBytes(const DataShape& data, uint32_t partitions) {
  if (CallerOwned(data)) return 0;
  const auto share = [partitions](uint64_t all) { return (all + partitions - 1) / partitions; };
  return BlockBytes(share(data.rows), data.features, data.sparse, share(data.entries),
                    data.storage);
}

Status CheckToken(const std::string& token, const std::string& listen) {
  if (token.size() > kMaxTokenBytes) {
    return Status::InvalidArgument(
        fmt::format("`token`: {} bytes are more than a worker can show. Use at most {}",
                    token.size(), kMaxTokenBytes));
  }
  if (token.empty() || token.size() >= kLeastTokenBytes) return Status::Ok();
  if (ReachedOnlyFromHere(listen)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("`token`: {} characters are guessed soon, and other machines can connect to {}. "
                  "Use {} or more, like those of `openssl rand -hex 16`, or give none, and one is "
                  "made up",
                  token.size(), listen, kLeastTokenBytes));
}

}  // namespace motley
