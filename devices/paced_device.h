// SPDX-License-Identifier: Apache-2.0
// A Device that takes at least its modelled time: each Submit is reported done no earlier than
// units * unit_time / speed after the previous one was done or it was submitted, whichever is
// later. Timers come late, by some 50 us: what is submitted from inside a Done counts from when
// that piece was due, so that their errors do not add up over the pieces of a step. Emulates slower
// hardware on one machine, and is the clock of simulated devices (with a VirtualLoop the arithmetic
// takes no time at all).
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
  // From the next Submit on. Loop thread.
  virtual void SetSpeed(double speed) = 0;
};

// `inner` and `loop` are borrowed. `vary` (optional) multiplies each modelled time: noise and slow
// phases of the simulator.
std::unique_ptr<PacedDevice> MakePacedDevice(Loop& loop, Device& inner, Pace pace,
                                             std::function<double()> vary = nullptr);

// Does work at once on the caller's thread with serial kernels of the baseline module, and reports
// through Post: the simulator's device under a PacedDevice.
Result<std::unique_ptr<Device>> MakeInlineDevice(Loop& loop);

}  // namespace motley
