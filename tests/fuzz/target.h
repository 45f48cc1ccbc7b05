// SPDX-License-Identifier: Apache-2.0
// What fuzzing drives: everything that reads bytes from outside. One target is one function of any
// bytes; it must return, whatever they are, and ends the program when what was read does not hold
// together. libFuzzer looks for inputs (fuzz_main.cc), replay_test.cc keeps those it found.
#pragma once

#include <string_view>
#include <vector>

namespace motley::fuzz {

struct Target {
  const char* name;  // Of its folder in corpus/, too.
  void (*run)(std::string_view input);
};

// Every target; the list is in targets.cc.
const std::vector<Target>& Targets();

// Readers of data files: tests/fuzz/data_targets.cc.
void Csv(std::string_view input);
void Gzip(std::string_view input);
void Idx(std::string_view input);
void Libsvm(std::string_view input);
void Npy(std::string_view input);
void Npz(std::string_view input);
void SafetensorsData(std::string_view input);
// Trained models: header and file.
void SafetensorsModel(std::string_view input);

// What peers send: tests/fuzz/wire_targets.cc.
void Frames(std::string_view input);
void Control(std::string_view input);
void Block(std::string_view input);

// Text that people write, and checkpoints: tests/fuzz/file_targets.cc.
void Profile(std::string_view input);
void FaultPlan(std::string_view input);
void ShardFile(std::string_view input);
// Whole folders of shard files: tests/fuzz/checkpoint_targets.cc.
void Checkpoint(std::string_view input);
// What a checkpoint says about its job.
void Description(std::string_view input);

// Recorded times, of runs and of rounds: tests/fuzz/trace_targets.cc.
void RunTraceFile(std::string_view input);
void WorkerTraceFile(std::string_view input);

// Calls of the C API: tests/fuzz/call_targets.cc.
void Calls(std::string_view input);

}  // namespace motley::fuzz
