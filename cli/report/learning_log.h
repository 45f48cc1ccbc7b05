// SPDX-License-Identifier: Apache-2.0
// How a job learned, from its events: lines of JSON while it runs, and a picture at its end.
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
  // What one line says.
  struct Point {
    uint64_t step = 0;  // Steps that were done by then.
    double epoch = 0;
    double loss = 0;        // Of the step, or the mean of those since the last judgement.
    double validation = 0;  // Loss on the validation samples; NaN: nothing was evaluated.
    bool judged = false;
    bool best = false;
  };

  // `path` empty: no file. It is begun anew. kResource names it.
  static Result<std::unique_ptr<LearningLog>> Open(const std::string& path);

  // Of each of up to kMostLines steps one line, evenly, and one of each judgement. `job` is as of
  // the event.
  void OnEvent(const motley_event& event, const motley_metrics& job);
  // The last line is in the file; kResource: something could not be written.
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

// Loss over epochs: the steps', and that of the validation samples with its best version marked.
std::string CurveSvg(const std::vector<LearningLog::Point>& points);

}  // namespace motley
