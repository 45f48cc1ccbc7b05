// SPDX-License-Identifier: Apache-2.0
#include "devices/watched_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// Nothing can return during a pause of the whole process, and such a pause counts as at most one
// look.
constexpr int kLooks = 8;
constexpr Duration kLongest = std::chrono::hours(24);
constexpr Duration kAskEvery = std::chrono::milliseconds(100);

}  // namespace

WatchedDevice::WatchedDevice(Loop& loop, Device& inner, Patience patience,
                             std::function<Status()> ended)
    : ForwardingDevice(inner), loop_(loop), patience_(patience), ended_(std::move(ended)) {}

WatchedDevice::~WatchedDevice() {
  *destroyed_ = true;
  if (timer_ != 0) loop_.Cancel(timer_);
  if (ask_timer_ != 0) loop_.Cancel(ask_timer_);
}

void WatchedDevice::Submit(double units, Work work, Done done) {
  if (lost_) {
    return loop_.Post([done = std::move(done), why = why_, destroyed = destroyed_] {
      if (!*destroyed) done(why);
    });
  }
  if (pieces_.empty()) {
    begun_ = loop_.Now();
    looks_ = 0;
  }
  const auto piece = std::make_shared<Piece>(units, std::move(done));
  pieces_.push_back(piece);
  if (timer_ == 0) Watch();
  if (ended_ && ask_timer_ == 0) AskEnded();
  inner_.Submit(units, std::move(work), [this, piece, destroyed = destroyed_](Status status) {
    if (!*destroyed && !lost_) OnDone(std::move(status));
  });
}

void WatchedDevice::PostFromWork(Task task) {
  inner_.PostFromWork([this, destroyed = destroyed_, task = std::move(task)]() mutable {
    if (!*destroyed && !lost_) task();
  });
}

void WatchedDevice::OnDone(Status status) {
  const std::shared_ptr<Piece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  const Time now = loop_.Now();
  Duration& longest = any_done_ ? longest_ : first_;
  longest = std::max(longest, now - begun_);
  any_done_ = true;
  begun_ = now;
  looks_ = 0;
  piece->done(std::move(status));
}

Duration WatchedDevice::Limit() const {
  if (!any_done_) return patience_.first;
  const double longest = std::min(patience_.times * ToSeconds(longest_), ToSeconds(kLongest));
  return std::max({patience_.least, first_, FromSeconds(longest)});
}

void WatchedDevice::Watch() {
  timer_ = loop_.After(Limit() / kLooks, [this] {
    timer_ = 0;
    Look();
  });
}

// One timer that is renewed while there is work costs almost nothing, unlike a timer for each
// piece.
void WatchedDevice::Look() {
  if (pieces_.empty()) return;  // Also the case once the device is lost.
  ++looks_;
  if (looks_ > kLooks) return LoseSlow();
  Watch();
}

void WatchedDevice::AskEnded() {
  ask_timer_ = loop_.After(kAskEvery, [this] {
    ask_timer_ = 0;
    if (pieces_.empty()) return;
    if (Status ended = ended_(); !ended.ok()) return Lose(std::move(ended));
    AskEnded();
  });
}

void WatchedDevice::LoseSlow() {
  const double seconds = ToSeconds(loop_.Now() - begun_);
  Lose(Status::Unavailable(fmt::format(
      "work on {:g} samples has not come back for {:.3g} s ({}); its kernel or its driver hangs",
      pieces_.front()->units, seconds,
      any_done_ ? fmt::format("the longest piece before took {:.3g} s",
                              ToSeconds(std::max(first_, longest_)))
                : "no work came back before; the device may not even be open")));
}

void WatchedDevice::Lose(Status why) {
  lost_ = true;
  why_ = std::move(why);
  const auto destroyed = destroyed_;
  // If the work ever returns, it destroys the pieces, which it shares.
  for (const auto& piece : std::exchange(pieces_, {})) {
    if (!*destroyed) piece->done(why_);
  }
}

}  // namespace motley
