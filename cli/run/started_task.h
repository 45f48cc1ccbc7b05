// SPDX-License-Identifier: Apache-2.0
// How a task of srun or mpirun learns which one it is. Each task runs `motley run`. The first one
// serves, and the others find its address and token in a file that only the user can read, in a
// folder that all machines share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"

namespace motley {

struct StartedTask {
  std::string starter;  // "srun", "mpirun"
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string job;  // The same in all tasks, and in no other job's.

  bool first() const { return rank == 0; }
};

// Reads the environment. Empty: none of srun, mpirun and torchrun started this process.
// kInvalidArgument: a variable is invalid, or nothing identifies the job.
Result<std::optional<StartedTask>> FindTask();

// What FindTask looks at, for errors: "Open MPI (OMPI_COMM_WORLD_RANK, ...), ...".
std::string TaskSources();

// Where the tasks of one job find their server.
struct Meeting {
  std::string address;
  std::string token;
};

// The path of the task's file: in `folder`; empty: in MOTLEY_RUN_DIR, or in ~/.motley/run. Creates
// the folder for this user alone.
Result<std::string> MeetingPath(const StartedTask& task, std::string folder);
Status WriteMeeting(const std::string& path, const Meeting& meeting);
// kNotFound: not yet there. kPermission: another user owns or reads the file.
Result<Meeting> ReadMeeting(const std::string& path);

}  // namespace motley
