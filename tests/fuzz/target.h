// SPDX-License-Identifier: Apache-2.0
// Fuzz targets for everything that reads bytes from outside. A target is a function of any bytes.
// It must return, whatever they are, and ends the program if the result is inconsistent. libFuzzer
// looks for inputs (fuzz_main.cc), and replay_test.cc repeats those that it found.
#pragma once

#include <string_view>
#include <vector>

namespace motley::fuzz {

struct Target {
  const char* name;  // Also the name of its folder in corpus/.
  void (*run)(std::string_view input);
};

// All targets; the list is in targets.cc.
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

// Data from peers: tests/fuzz/wire_targets.cc.
void Frames(std::string_view input);
void Control(std::string_view input);
void Block(std::string_view input);
void Code(std::string_view input);

// Text files of users, and checkpoints: tests/fuzz/file_targets.cc.
void Profile(std::string_view input);
void FaultPlan(std::string_view input);
void ShardFile(std::string_view input);
// Whole folders of shard files: tests/fuzz/checkpoint_targets.cc.
void Checkpoint(std::string_view input);
// The description of a job in a checkpoint.
void Description(std::string_view input);

// Recorded times, of runs and of rounds: tests/fuzz/trace_targets.cc.
void RunTraceFile(std::string_view input);
void WorkerTraceFile(std::string_view input);

// Calls of the C API: tests/fuzz/call_targets.cc.
void Calls(std::string_view input);

}  // namespace motley::fuzz
