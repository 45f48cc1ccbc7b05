// SPDX-License-Identifier: Apache-2.0
// Emulated speeds: each sample is padded to a modelled time divided by the worker's speed. The
// modelled time is chosen so that the real computing uses at most half of the cores: otherwise
// contention would be measured, not speed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "base/time.h"
#include "data/data_source.h"
#include "training/models/model.h"

namespace motley {

uint32_t Cores();  // Cores of this machine; at least 1.

struct Emulation {
  Duration sample_time{};          // Modelled time of one sample at speed 1.
  double real_sample_seconds = 0;  // Real time of one sample on one core.
  double cores = 1;                // Cores of the machine.
  double cores_used = 0;           // Used by real computing when all workers are busy.
  double samples_per_second = 0;   // All workers together.

  bool overloaded() const { return cores_used > 0.5 * cores * (1 + 1e-9); }
};

// Plans sample_time as `chosen`, or as max(2 r S / cores, 40 ms S / batch) with the sum of speeds S
// and the real time r of a sample. An uncoded step then lasts at least 40 ms.
Emulation PlanEmulation(double real_sample_seconds, std::span<const double> speeds, uint32_t batch,
                        double cores, std::optional<Duration> chosen);
// A text for users: sample time, cores used, samples per second.
std::string DescribeEmulation(const Emulation& emulation);

// Median real time of one sample of this model on one core, in batches of `batch` samples, gathered
// and computed as a worker does. Takes about a tenth of a second. Blocks.
Result<double> MeasureSampleSeconds(Model& model, const DataSource& data, uint32_t batch,
                                    uint64_t seed);

}  // namespace motley
