// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_device.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr double kShortest = 0.1;  // Of a piece's modelled time, however large the jitter.

}  // namespace

Result<std::unique_ptr<SimDevice>> SimDevice::Create(Loop& loop, const DeviceProfile& profile,
                                                     Random random) {
  MOTLEY_ASSIGN_OR_RETURN(auto inner, MakeInlineDevice(loop));
  std::unique_ptr<SimDevice> device(new SimDevice(profile, random));
  device->inner_ = std::move(inner);
  Pace pace;
  pace.unit_time = std::chrono::seconds(1);
  pace.speed = profile.samples_per_second;
  device->paced_ =
      MakePacedDevice(loop, *device->inner_, pace, [raw = device.get()] { return raw->Vary(); });
  return device;
}

double SimDevice::Vary() {
  double factor = slowness_;
  if (profile_.jitter > 0) {
    factor *= std::max(kShortest, 1 + profile_.jitter * random_.Normal());
  }
  return factor;
}

void SimDevice::Submit(double units, Work work, Done done) {
  // The overhead in samples that would take as long.
  if (units > 0) units += profile_.overhead_seconds * profile_.samples_per_second;
  paced_->Submit(units, std::move(work), std::move(done));
}

}  // namespace motley
