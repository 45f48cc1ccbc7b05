// SPDX-License-Identifier: Apache-2.0
// A simulated device. It does the real arithmetic at once, and reports it after the time that its
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

// Processors that the devices of several workers share. `count` pieces at a time run at full speed.
// If there are more when a piece begins, it is slower in proportion. Loop thread.
struct SharedProcessors {
  double count = 1;
  uint32_t busy = 0;  // Pieces that are being computed.
};

class SimDevice final : public ForwardingDevice<> {
 public:
  // `loop` is borrowed. With a null `shared` the device has its own processors. kNotFound if the
  // kernels cannot be loaded.
  static Result<std::unique_ptr<SimDevice>> Create(
      Loop& loop, const DeviceProfile& profile, Random random,
      std::shared_ptr<SharedProcessors> shared = nullptr);
  ~SimDevice() override;

  // Work submitted from now on takes this many times as long. >= some small positive number.
  void SetSlowness(double factor) { slowness_ = factor; }
  // Work submitted from now on takes recorded times instead of the profile's. The function gives
  // the seconds of all units since this call. Null: back to the profile.
  using Recorded = std::function<double(double units)>;
  void Replay(Recorded recorded) {
    recorded_ = std::move(recorded);
    replayed_units_ = replayed_seconds_ = 0;
  }
  // Delays all reports to `until` at the earliest.
  void Stall(Time until) { stalled_until_ = until; }
  // The number of pieces that were begun. busy() is true while one has not been reported.
  uint64_t begun() const { return begun_; }
  bool busy() const { return busy_; }
  // Neither the running piece nor a later one is ever reported.
  void Hang() { hung_ = true; }
  // The next piece that is reported, and all later ones, fail with `why`.
  void Fail(Status why) { failure_ = std::move(why); }
  bool broken() const { return hung_ || !failure_.ok(); }
  // A fresh draw, to compare two runs.
  uint64_t LastDraw() { return random_.Next64(); }

  // Reports the work no earlier than its modelled time after the previous piece and after now.
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
  bool occupies_ = false;  // The running piece occupies a shared processor.
  Recorded recorded_;
  double replayed_units_ = 0, replayed_seconds_ = 0;
  bool hung_ = false;
  Time stalled_until_{};
  uint64_t begun_ = 0;
  Status failure_;
  const std::unique_ptr<Device> host_;  // Provides kernels, memory and copies.
  Fifo<Piece> waiting_;
  bool busy_ = false;
  TimerId timer_ = 0;
  Time previous_done_ = Time::min();
  // The next three members belong to the running piece.
  Done done_;
  std::vector<Task> reports_;  // Tasks that it posts.
  Status status_;
  const std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
};

}  // namespace motley
