// SPDX-License-Identifier: Apache-2.0
// Records how a job learns, from its events: lines of JSON while it runs, and a picture at its end.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "motley/motley.h"

namespace motley {

class LearningLog {
 public:
  // The contents of one line.
  struct Point {
    uint64_t step = 0;  // Number of steps done.
    double epoch = 0;
    double loss = 0;        // Loss of the step, or the mean since the last judgement.
    double validation = 0;  // Validation loss; NaN: not evaluated.
    bool judged = false;
    bool best = false;
  };

  // Truncates the file at `path`; an empty path means no file. kResource names the file.
  static Result<std::unique_ptr<LearningLog>> Open(const std::string& path);

  // Writes one line per judgement, and one per step for up to kMostLines evenly chosen steps. `job`
  // holds the metrics at the time of the event.
  void OnEvent(const motley_event& event, const motley_metrics& job);
  // Finishes the file. kResource: some line could not be written.
  Status Close();

  const std::vector<Point>& points() const { return points_; }
  static constexpr uint64_t kMostLines = 10'000;

 private:
  struct CloseFile {
    void operator()(FILE* file) const { fclose(file); }
  };

  std::string path_;
  std::unique_ptr<FILE, CloseFile> file_;
  bool failed_ = false;
  std::vector<Point> points_;
};

// Draws the loss of steps and of validation samples over epochs, and marks the best version.
std::string CurveSvg(const std::vector<LearningLog::Point>& points);

}  // namespace motley
