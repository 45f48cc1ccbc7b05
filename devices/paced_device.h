// SPDX-License-Identifier: Apache-2.0
// A Device that takes at least its modelled time. Each Submit is reported done no earlier than
// units * unit_time / speed after the previous Done or the Submit, whichever is later. Timers fire
// some 50 us late; work submitted from inside a Done therefore counts from when that Done was due,
// so that the errors do not add up over a step.
//
// Paced devices emulate slower hardware on one machine, and are the clock of simulated devices
// (with a VirtualLoop the arithmetic itself takes no time).
#pragma once

#include <functional>
#include <memory>

#include "base/loop/loop.h"
#include "devices/device.h"

namespace motley {

struct Pace {
  Duration unit_time{};  // Modelled time of one unit (sample) at speed 1.
  double speed = 1.0;    // > 0.
};

class PacedDevice : public Device {
 public:
  // Applies from the next Submit on. Loop thread.
  virtual void SetSpeed(double speed) = 0;
};

// `inner` and `loop` are borrowed. `vary` (optional) returns a factor for each modelled time: the
// simulator's noise and slow phases.
std::unique_ptr<PacedDevice> MakePacedDevice(Loop& loop, Device& inner, Pace pace,
                                             std::function<double()> vary = nullptr);

// A device that runs work at once on the caller's thread, with serial kernels of the baseline
// module, and reports through Post. The simulator wraps it in a PacedDevice.
Result<std::unique_ptr<Device>> MakeInlineDevice(Loop& loop);

}  // namespace motley
