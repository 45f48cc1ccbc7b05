// SPDX-License-Identifier: Apache-2.0
// The file in which a sweep records its runs, so that it can go on after an interruption. It has
// one line of JSON for the plan, and one for each run that has ended.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/commands/sweep/sweep_file.h"
#include "cli/report/sweep_report.h"

namespace motley {

class SweepLog {
 public:
  // Creates the file at `path`, or reads the runs that are in it. A last line that was cut off is
  // dropped. kConflict: the file has results of another plan or is of something else, or
  // its folder has the files of trials that no log names. kDataError, kResource.
  static Result<std::unique_ptr<SweepLog>> Open(const std::string& path, const SweepPlan& plan);

  // The runs of earlier calls, in the order in which they ended.
  const std::vector<SweptRun>& earlier() const { return earlier_; }
  // Writes and flushes one line. kResource.
  Status Add(const SweptRun& run);

 private:
  struct CloseFile {
    void operator()(FILE* file) const { fclose(file); }
  };
  std::string path_;
  std::unique_ptr<FILE, CloseFile> file_;
  std::vector<SweptRun> earlier_;
};

}  // namespace motley
