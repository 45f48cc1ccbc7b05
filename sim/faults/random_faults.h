// SPDX-License-Identifier: Apache-2.0
// How often random faults strike in a scenario. The `_every` members are mean times between faults
// in seconds of virtual time; 0 switches a fault off. random_fault.h has the list of faults.
#pragma once

namespace motley {

struct RandomFaults {
  double kill_every = 0;       // One worker is always left.
  double restart = 0;          // Chance that a killed worker is started again within a second.
  double pause_every = 0;      // 10 ms to 2 s.
  double slow_every = 0;       // 2x to 10x, for 0.1 to 5 s.
  double partition_every = 0;  // One worker's link carries nothing for 10 ms to 2 s.
  // A worker's answer is not finite. At most twice per worker, and one worker per step: two in one
  // step would look like a training that diverges.
  double nan_every = 0;
  // A slice of a worker's answer is damaged where no checksum sees it, and keeps its norm. The
  // limits of nan_every hold for both kinds together.
  double garble_every = 0;
  double break_every = 0;  // A worker's device hangs or fails, for good. One is always left.
  // One of two joined devices reports nothing for 1.5 to 3 s, and then everything. This is long
  // enough for the other device to take over its work, and too short to count as a loss.
  double stall_every = 0;
  double replay = 0;          // Chance that a bulk frame comes again with an old incarnation.
  double cut_every = 0;       // A worker's connection breaks; the server may not notice.
  double blackout_every = 0;  // All connections break at once, or carry nothing for 10 ms to 5 s.
  double leave_every = 0;     // A worker leaves, and may come back. One is always left.
  double stranger_every = 0;  // A stranger connects at exactly this interval, until the end.
  // One shard server dies, and starts again within a second, or stands still for 10 ms to 2 s.
  double disturb_server_every = 0;
  double until_seconds = 0;  // When faults stop; the job must finish after it.
  bool operator==(const RandomFaults&) const = default;
};

}  // namespace motley
