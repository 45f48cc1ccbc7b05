// SPDX-License-Identifier: Apache-2.0
#include "devices/paced_device.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "devices/forwarding_device.h"
#include "devices/work_gate.h"

namespace motley {
namespace {

// The most that a timer is late; a longer delay is a pause of the process.
constexpr Duration kLatestTimer = std::chrono::milliseconds(2);

class PacedDeviceImpl final : public ForwardingDevice<PacedDevice> {
 public:
  PacedDeviceImpl(Loop& loop, Device& inner, Pace pace, std::function<double()> vary)
      : ForwardingDevice(inner), loop_(loop), pace_(pace), vary_(std::move(vary)) {
    SetSpeed(pace.speed);
  }
  ~PacedDeviceImpl() override {
    *destroyed_ = true;
    if (timer_) loop_.Cancel(*timer_);
    gate_->Close();
  }

  void SetSpeed(double speed) override {
    MOTLEY_ASSERT(std::isfinite(speed) && speed > 0);
    pace_.speed = speed;
  }

  void Submit(double units, Work work, Done done) override {
    // Work that follows a piece begins at the piece's end, not when the end was noticed.
    const Time submitted = in_done_ ? previous_done_ : loop_.Now();
    waiting_.push_back({units, submitted, ModelledTime(units), std::move(work), std::move(done)});
    if (!busy_) StartNext();
  }
  void PostFromWork(Task task) override {
    inner_.PostFromWork([this, destroyed = destroyed_, task = std::move(task)]() mutable {
      if (!*destroyed) reports_.push_back(std::move(task));
    });
  }

 private:
  struct Item {
    double units = 0;
    Time submitted{};
    Duration modelled{};
    Work work;
    Done done;
  };

  Duration ModelledTime(double units) {
    constexpr double kLongest = 1e9;  // Seconds; bounds sums of times.
    double seconds = units * ToSeconds(pace_.unit_time) / pace_.speed;
    if (vary_) seconds *= vary_();
    return seconds > 0 ? FromSeconds(std::min(seconds, kLongest)) : Duration::zero();
  }

  void StartNext() {
    busy_ = !waiting_.empty();
    if (!busy_) return;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    due_ = std::max(item.submitted, previous_done_) + item.modelled;
    done_ = std::move(item.done);
    slept_ = false;
    inner_.Submit(item.units, Gated(gate_, std::move(item.work)),
                  [this, destroyed = destroyed_](Status status) {
                    if (!*destroyed) FinishWhenDue(std::move(status));
                  });
  }

  void FinishWhenDue(Status status) {
    const Duration left = due_ - loop_.Now();
    if (left <= Duration::zero()) return Finish(std::move(status));
    slept_ = true;
    timer_ = loop_.After(left, [this, status = std::move(status)] { FinishWhenDue(status); });
  }

  void Finish(Status status) {
    const Time now = loop_.Now();
    previous_done_ = slept_ && now - due_ <= kLatestTimer ? due_ : now;
    const auto destroyed = destroyed_;
    for (Task& report : std::exchange(reports_, {})) {
      report();
      if (*destroyed) return;
    }
    in_done_ = true;
    std::exchange(done_, nullptr)(std::move(status));
    if (*destroyed) return;
    in_done_ = false;
    StartNext();
  }

  Loop& loop_;
  Pace pace_;
  const std::function<double()> vary_;
  std::deque<Item> waiting_;  // Filled by the loop thread alone; callers bound it.
  bool busy_ = false;
  Done done_;                  // The running item's, due at due_.
  std::vector<Task> reports_;  // The running item's.
  Time due_{};
  bool slept_ = false;    // Its work was done before it was due.
  bool in_done_ = false;  // The previous item is being reported.
  Time previous_done_ = Time::min();
  std::optional<TimerId> timer_;
  const std::shared_ptr<bool> destroyed_ = std::make_shared<bool>(false);
  const std::shared_ptr<WorkGate> gate_ = std::make_shared<WorkGate>();
};

}  // namespace

std::unique_ptr<PacedDevice> MakePacedDevice(Loop& loop, Device& inner, Pace pace,
                                             std::function<double()> vary) {
  return std::make_unique<PacedDeviceImpl>(loop, inner, pace, std::move(vary));
}

}  // namespace motley
