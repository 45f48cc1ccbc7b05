// SPDX-License-Identifier: Apache-2.0
// The two files that a run is recorded in: the cluster's profile, and its steps beside it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/run_recorder.h"

namespace motley {

class RunRecording {
 public:
  // Opens the file of steps: what is there is replaced now, the profile at the end. kNotFound,
  // kPermission, kInvalidArgument, kResource: nothing can be written there.
  static Result<std::unique_ptr<RunRecording>> Open(const std::string& path, ClusterProfile about);

  JobObserver& observer() { return recorder_; }
  // Once, when the run is over, however it ended. The first failure, also of what was written in
  // the meantime.
  Status Finish();

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, CloseFile>;

  RunRecording(std::string path, std::string trace_path, File file, ClusterProfile about);
  void Write(std::string_view text);

  const std::string path_, trace_path_;
  File file_;
  Status status_;
  RunRecorder recorder_;
};

// Where the steps of a run go whose profile is this file: "lab.toml" -> "lab.trace.csv".
std::string TracePathFor(const std::string& profile);

}  // namespace motley
