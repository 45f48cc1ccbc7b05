// SPDX-License-Identifier: Apache-2.0
// What a worker process is told by the job that starts it. Not in its arguments, which everybody
// on the machine can read: the token is among it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "devices/watched_device.h"

namespace motley {

struct WorkerEnvironment {
  std::string server;
  std::string token;
  std::string name;  // Empty: after its index.
  int32_t index = -1;
  uint32_t threads = 0;
  std::string device;                   // "opencl:0"; empty: the processor.
  std::optional<Duration> sample_time;  // Emulated: of a sample at speed 1.
  double speed = 1;
  uint64_t memory_bytes = 0;  // Of samples; 0: chosen by the worker.
};

// "MOTLEY_SERVER=..." and so on, together with this process's own variables.
std::vector<std::string> EnvironmentFor(const WorkerEnvironment& worker);
// What this process was told. kInvalidArgument: no job started it, or the variables make no sense.
Result<WorkerEnvironment> ReadWorkerEnvironment();
// MOTLEY_TOKEN, or empty.
std::string TokenFromEnvironment();
// MOTLEY_DEVICE_TIMEOUT, in seconds, is how long work may be on a device before it counts as lost
// (more where it took long before). kInvalidArgument: no such number.
Result<Patience> PatienceFromEnvironment();

}  // namespace motley
