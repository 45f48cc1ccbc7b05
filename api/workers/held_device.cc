// SPDX-License-Identifier: Apache-2.0
#include "api/workers/held_device.h"

#include <utility>

namespace motley {

HeldDevice::~HeldDevice() {
  *gone_ = true;
  if (timer_ != 0) loop_.Cancel(timer_);
  gate_->Close();
}

void HeldDevice::Hold(Duration duration) {
  if (timer_ != 0) loop_.Cancel(timer_);
  timer_ = loop_.After(duration, [this] { Release(); });
}

void HeldDevice::Release() {
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
  // A task may destroy this device.
  for (Task& task : std::exchange(held_, {})) loop_.Post(std::move(task));
}

void HeldDevice::Submit(double units, Work work, Done done) {
  inner_.Submit(units, Gated(gate_, std::move(work)),
                [this, gone = gone_, done = std::move(done)](Status status) mutable {
                  if (*gone) return;
                  if (timer_ == 0) return done(std::move(status));
                  held_.push_back([gone, done = std::move(done), status = std::move(status)] {
                    if (!*gone) done(status);
                  });
                });
}

}  // namespace motley
