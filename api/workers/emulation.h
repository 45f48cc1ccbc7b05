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

uint32_t Cores();  // Of this machine; at least 1.

struct Emulation {
  Duration sample_time{};          // Of one sample at speed 1.
  double real_sample_seconds = 0;  // What it really takes on one core.
  double cores = 1;                // There are.
  double cores_used = 0;           // By real computing, when every worker is busy all the time.
  double samples_per_second = 0;   // All workers together.

  bool overloaded() const { return cores_used > 0.5 * cores * (1 + 1e-9); }
};

// max(2 r S / cores, 40 ms S / batch) with the sum of speeds S and the real time r of a sample, so
// that an uncoded step lasts at least 40 ms; or `chosen`.
Emulation PlanEmulation(double real_sample_seconds, std::span<const double> speeds, uint32_t batch,
                        double cores, std::optional<Duration> chosen);
// For people: sample time, part of the cores, samples per second.
std::string DescribeEmulation(const Emulation& emulation);

// Median real time of one sample of this model on one core, in batches of `batch` samples, gathered
// and computed as a worker does. Takes about a tenth of a second. Blocks.
Result<double> MeasureSampleSeconds(Model& model, const DataSource& data, uint32_t batch,
                                    uint64_t seed);

}  // namespace motley
