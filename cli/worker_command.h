// SPDX-License-Identifier: Apache-2.0
// `motley worker`: one local worker, started by `motley train` only. The first line of its input is
// the job's token; later lines are "speed 0.2" (from the next piece of work on) and "nan" (the next
// answer is spoilt). It leaves when its input closes.
#pragma once

#include <cstdint>
#include <string>

namespace motley {

struct WorkerFlags {
  std::string connect;
  int32_t index = 0;
  uint32_t threads = 1;
  std::string sample_time;  // Empty: real speed.
  double speed = 1;
};

int RunWorker(const WorkerFlags& flags);

}  // namespace motley
