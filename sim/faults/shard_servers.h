// SPDX-License-Identifier: Apache-2.0
// The shard servers of a simulated job. Until faults stop, some of them stand still or die now and
// then, and a new process takes the place of a dead one within a second. All times are drawn from
// the seed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "base/random.h"
#include "sim/world/sim_process.h"

namespace motley {

class ShardServers {
 public:
  // All arguments are borrowed.
  ShardServers(VirtualLoop& world, SimNetwork& network, const SimOptions& options);

  Status Create();
  void Start();
  void Stop() { stopped_ = true; }  // Nothing dies or comes back from now on.
  void Kill();                      // All of them.
  bool alive() const;               // One of them is.
  // As those of WorkerProcess, for all of them.
  void TearDown(Violations& violations);
  void CheckQuiet(Violations& violations) const;
  void MixLastDraws(Digest& digest);
  uint64_t deaths() const { return deaths_; }

 private:
  void Arm();
  void Strike();
  void Kill(size_t server);
  void Pause(size_t server);
  void Restart(size_t server);
  // A drawn time, at most until faults stop.
  Duration Draw(double shortest_seconds, double longest_seconds);

  VirtualLoop& world_;
  SimNetwork& network_;
  const SimOptions& options_;
  Random random_;
  std::vector<std::unique_ptr<WorkerProcess>> servers_;
  std::vector<std::unique_ptr<WorkerProcess>> dead_;  // Earlier processes.
  bool stopped_ = false;
  uint64_t deaths_ = 0;
};

}  // namespace motley
