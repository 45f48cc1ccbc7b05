// SPDX-License-Identifier: Apache-2.0
// Records a run while it goes on: a line for each worker's part of each step (run_trace.h), and a
// profile of the cluster from these lines. Memory is bounded, whatever the run's length. Pure
// except for `write`; loop thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiles/device_estimator.h"
#include "profiles/profile.h"
#include "runtime/job_event.h"
#include "runtime/run_trace.h"

namespace motley {

// The median of the last few values.
class RecentMedian {
 public:
  void Add(double value);
  double Of(double otherwise) const;
  bool empty() const { return values_.empty(); }

 private:
  std::vector<double> values_;
  size_t next_ = 0;
};

class RunRecorder final : public JobObserver {
 public:
  // `write` receives the lines of the file. `about` describes the cluster; the recorder fills in
  // its `workers`.
  using Write = std::function<void(std::string_view)>;
  RunRecorder(ClusterProfile about, Write write);

  void OnEvent(const JobEvent& event) override;

  // The run is over. Writes the lines that are still held.
  void Finish();
  // Workers are in the order of their numbers. A worker that computed nothing has a typical speed;
  // if all computed nothing, there are no workers. Curve, noise and slow pieces are those of one
  // piece of a worker's part; a row has up to six. A simulation that cuts the part in the same way
  // therefore has the run's own spread.
  ClusterProfile Profile() const;

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkComputed& event);
  void On(const event::VectorReceived& event);
  void On(const event::RoundTrip& event);
  void On(const event::LinkMeasured& event);

  struct Seen {
    std::string name;
    RunTraceLine line;  // The line of the worker's current step; no samples: empty.
    std::optional<DeviceEstimator> device;
    double parts = 0;  // Mean number of pieces in a part.
    RecentMedian round_trip, up, down;
    double up_alone = 0;  // Bytes per second with nothing else under way; 0: not measured.
  };
  void Flush(Seen& seen);
  DeviceProfile DeviceOf(const Seen& seen) const;

  ClusterProfile about_;
  Write write_;
  std::map<WorkerId, Seen> workers_;
};

}  // namespace motley
