// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.h"

namespace motley::fuzz {

// A new reader of outside data needs a line here, a function in target.h and a folder of small
// examples in corpus/.
const std::vector<Target>& Targets() {
  static const std::vector<Target> targets = {
      {"block", Block},
      {"calls", Calls},
      {"checkpoint", Checkpoint},
      {"code", Code},
      {"control", Control},
      {"csv", Csv},
      {"description", Description},
      {"faults", FaultPlan},
      {"frames", Frames},
      {"gzip", Gzip},
      {"idx", Idx},
      {"libsvm", Libsvm},
      {"npy", Npy},
      {"npz", Npz},
      {"profile", Profile},
      {"run_trace", RunTraceFile},
      {"safetensors_data", SafetensorsData},
      {"safetensors_model", SafetensorsModel},
      {"shard", ShardFile},
      {"worker_trace", WorkerTraceFile},
  };
  return targets;
}

}  // namespace motley::fuzz
