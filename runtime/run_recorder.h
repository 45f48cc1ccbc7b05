// SPDX-License-Identifier: Apache-2.0
// Records a run while it goes on: a line for each worker's part of each step (run_trace.h), and
// what they say about the cluster, as a profile. Bounded memory, whatever the run's length. Pure
// but for what `write` does; loop thread.
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
  // What the file says of the job besides; `workers` are filled in.
  using Write = std::function<void(std::string_view)>;
  RunRecorder(ClusterProfile about, Write write);

  void OnEvent(const JobEvent& event) override;

  // The run is over: writes what was held back.
  void Finish();
  // Workers in the order of their numbers, those that computed nothing with a typical speed; none
  // at all when nobody did. Curve, noise and slow pieces are those of one piece of a worker's part,
  // of which a row has up to six: so a simulation that cuts it likewise has the run's own spread.
  ClusterProfile Profile() const;

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::WorkComputed& event);
  void On(const event::VectorReceived& event);
  void On(const event::RoundTrip& event);
  void On(const event::LinkMeasured& event);

  struct Seen {
    std::string name;
    RunTraceLine line;  // Of the step that it is at; no samples: nothing yet.
    std::optional<DeviceEstimator> device;
    double parts = 0;  // Mean number of pieces in a part.
    RecentMedian round_trip, up, down;
    double up_alone = 0;  // Bytes per second, nothing else under way; 0: not measured.
  };
  void Flush(Seen& seen);
  DeviceProfile DeviceOf(const Seen& seen) const;

  ClusterProfile about_;
  Write write_;
  std::map<WorkerId, Seen> workers_;
};

}  // namespace motley
