// SPDX-License-Identifier: Apache-2.0
// What a job asks of its scheduler. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "coding/schemes.h"
#include "scheduler/sync/sync_mode.h"

namespace motley {

enum class Shares { kProportional, kEqual };

// A list of all partitions has to fit in a control message.
inline constexpr uint32_t kMaxPartitions = 250'000;

struct SchedulerOptions {
  // The most workers. The job starts when all are ready; see also gather_time.
  uint32_t workers = 1;
  uint32_t partitions = 1;  // k
  std::string code = "none";
  uint32_t tolerate = 1;  // s; 0 for "none". With "auto", the least tolerance.
  // With "approximate" only (rows/early_end.h): how many rows are enough for a step (0: all but
  // `tolerate`), and how long a step with a row waits (zero: as long as some worker is in time).
  uint32_t quorum = 0;
  Duration step_deadline{};
  uint32_t parts = 2;  // m of codes with parts.
  SyncMode sync;       // Which updates are open at a time.
  // With sync.in_order: so many updates in a row share a batch, in parts that follow the speeds of
  // their workers. 1: each has a batch of its own. No more than partitions.
  uint32_t turns = 1;
  Shares shares = Shares::kProportional;
  uint32_t batch = 1;       // Samples of a batch; a partition counts batch / partitions of them.
  uint64_t steps = 1;       // The job ends after this many.
  uint64_t first_step = 0;  // At most `steps`; an earlier run did the steps before it.
  uint64_t seed = 0;
  // At start_timeout the job starts with the ready workers, if they are at least `least_workers`.
  Duration start_timeout = std::chrono::seconds(30);
  uint32_t least_workers = 1;
  // The time that other workers get once the least are ready; none: until start_timeout.
  std::optional<Duration> gather_time;
  // The wait for a worker when the last one was lost.
  Duration return_timeout = std::chrono::minutes(10);
  // For "auto". `most_sums`: gradient-length vectors that the server has room for in a step; 0: any
  // number. The simulator's campaign draws another code every `draw_codes_every` steps; 0: never.
  uint32_t most_sums = 0;
  uint32_t draw_codes_every = 0;
  bool unweighted = false;  // "auto" chooses only schemes whose answers are added as they are.
  // True: where the code does not need all answers, these always wait for grants (send_grants.h).
  // False: never. None: where the measured link promises to gain by it.
  std::optional<bool> grant_sends = {};
  // The same for workers that begin when others have computed. None: where computing is short.
  std::optional<bool> keep_reserve = {};
  // For rows on links that bear no more workers: this many of the fastest take part, and the others
  // stand by; 0: all take part.
  uint32_t most_workers = 0;
};

// The rows that these options ask of their code, for workers with these speeds.
inline CodeRequest RequestOf(const SchedulerOptions& options, std::vector<double> speeds) {
  CodeRequest request;
  request.speeds = std::move(speeds);
  request.stragglers = options.tolerate;
  request.partitions = options.partitions;
  request.seed = options.seed;
  request.parts = options.parts;
  return request;
}

}  // namespace motley
