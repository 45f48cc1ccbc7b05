// SPDX-License-Identifier: Apache-2.0
// The two files of a recorded run: the cluster's profile, and a trace of the steps beside it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/run_recorder.h"

namespace motley {

class RunRecording {
 public:
  // Opens and empties the trace. Finish replaces the profile. kNotFound, kPermission,
  // kInvalidArgument, kResource: the files cannot be written.
  static Result<std::unique_ptr<RunRecording>> Open(const std::string& path, ClusterProfile about);

  JobObserver& observer() { return recorder_; }
  // Call once when the run is over, however it ended. Returns the first failure, including one that
  // occurred during the run.
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

// The path of the trace that belongs to a profile: "lab.toml" -> "lab.trace.csv".
std::string TracePathFor(const std::string& profile);

}  // namespace motley
