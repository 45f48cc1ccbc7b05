// SPDX-License-Identifier: Apache-2.0
// A simulated device: does the real arithmetic at once and reports it after the time that its
// profile models, with noise from the seed and slow phases. Loop thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/fifo.h"
#include "base/random.h"
#include "devices/forwarding_device.h"
#include "profiles/profile.h"

namespace motley {

// That the devices of several workers have together: as many pieces at a time are computed at full
// speed, more of them share it evenly (by how many there are when one begins). Loop thread.
struct SharedProcessors {
  double count = 1;
  uint32_t busy = 0;  // Pieces that are being computed.
};

class SimDevice final : public ForwardingDevice<> {
 public:
  // `loop` is borrowed. `shared` may be null: it has its own. kNotFound when the kernels cannot be
  // loaded.
  static Result<std::unique_ptr<SimDevice>> Create(
      Loop& loop, const DeviceProfile& profile, Random random,
      std::shared_ptr<SharedProcessors> shared = nullptr);
  ~SimDevice() override;

  // Work submitted from now on takes this many times as long. >= some small positive number.
  void SetSlowness(double factor) { slowness_ = factor; }
  // Work submitted from now on takes what these recorded times say instead of what the profile
  // models: seconds for so many units since this call. Null: the profile again.
  using Recorded = std::function<double(double units)>;
  void Replay(Recorded recorded) {
    recorded_ = std::move(recorded);
    replayed_units_ = replayed_seconds_ = 0;
  }
  // What would be reported before then is reported then.
  void Stall(Time until) { stalled_until_ = until; }
  // Pieces that were begun; and whether one is not reported yet.
  uint64_t begun() const { return begun_; }
  bool busy() const { return busy_; }
  // What it computes, and what comes after, is never reported.
  void Hang() { hung_ = true; }
  // What is reported next, and from then on, failed with `why`.
  void Fail(Status why) { failure_ = std::move(why); }
  bool broken() const { return hung_ || !failure_.ok(); }
  // A fresh draw, to compare two runs.
  uint64_t LastDraw() { return random_.Next64(); }

  // Reported no earlier than its modelled time after the previous piece, or after now.
  void Submit(double units, Work work, Done done) override;
  void PostFromWork(Task task) override { reports_.push_back(std::move(task)); }

 private:
  struct Piece {
    Time submitted{};
    Duration modelled{};
    Work work;
    Done done;
  };

  SimDevice(Loop& loop, const DeviceProfile& profile, Random random, std::unique_ptr<Device> host)
      : ForwardingDevice(*host),
        loop_(loop),
        profile_(profile),
        random_(random),
        host_(std::move(host)) {}
  Duration ModelledTime(double units);
  Duration RecordedTime(double units);
  void Begin(Time submitted, Duration modelled, const Work& work);
  double Occupy();
  void Leave();
  void Finish();

  Loop& loop_;
  const DeviceProfile profile_;
  Random random_;
  double slowness_ = 1;
  std::shared_ptr<SharedProcessors> shared_;
  bool occupies_ = false;  // One of them.
  Recorded recorded_;
  double replayed_units_ = 0, replayed_seconds_ = 0;
  bool hung_ = false;
  Time stalled_until_{};
  uint64_t begun_ = 0;
  Status failure_;
  const std::unique_ptr<Device> host_;  // Kernels, memory and copies.
  Fifo<Piece> waiting_;
  bool busy_ = false;
  TimerId timer_ = 0;
  Time previous_done_ = Time::min();
  // Of the piece that runs.
  Done done_;
  std::vector<Task> reports_;  // What it posts meanwhile.
  Status status_;
  const std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
};

}  // namespace motley
