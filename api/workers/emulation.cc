// SPDX-License-Identifier: Apache-2.0
#include "api/workers/emulation.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "api/device_call.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "runtime/uv_loop.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs on the device's thread.
Status TimeSamples(Model& model, Device& device, const DataSource& data, uint64_t seed,
                   std::vector<uint32_t> rows, std::vector<double>& seconds) {
  std::vector<float> parameters(model.parameter_count());
  std::vector<float> gradient(model.parameter_count());
  model.Initialize(seed, parameters);
  const auto start = Clock::now();
  while (seconds.size() < 5 || (SecondsSince(start) < 0.1 && seconds.size() < 1000)) {
    const auto begin = Clock::now();
    double loss = 0;
    MOTLEY_ASSIGN_OR_RETURN(const Dataset batch, data.Gather(rows));
    MOTLEY_RETURN_IF_ERROR(model.AddGradient(device, parameters, batch, 1, gradient, loss));
    seconds.push_back(SecondsSince(begin) / static_cast<double>(rows.size()));
  }
  return Status::Ok();
}

}  // namespace

uint32_t Cores() { return std::max(1U, std::thread::hardware_concurrency()); }

Emulation PlanEmulation(double real_sample_seconds, std::span<const double> speeds, uint32_t batch,
                        double cores, std::optional<Duration> chosen) {
  constexpr double kShortestStep = 0.040;
  const double total = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  Emulation emulation;
  emulation.real_sample_seconds = real_sample_seconds;
  emulation.cores = cores;
  emulation.sample_time = chosen.value_or(FromSeconds(
      std::max(2 * real_sample_seconds * total / cores, kShortestStep * total / batch)));
  const double modelled = ToSeconds(emulation.sample_time);
  emulation.cores_used = real_sample_seconds * total / modelled;
  emulation.samples_per_second = total / modelled;
  return emulation;
}

std::string DescribeEmulation(const Emulation& emulation) {
  return fmt::format(
      "emulated speeds: a sample takes {:.4g} ms at speed 1; real computing uses {:.2g} of {:g} "
      "cores; all workers together may compute {:.0f} samples/s",
      ToSeconds(emulation.sample_time) * 1e3, emulation.cores_used, emulation.cores,
      emulation.samples_per_second);
}

Result<double> MeasureSampleSeconds(Model& model, const DataSource& data, uint32_t batch,
                                    uint64_t seed) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  CpuDeviceOptions options;
  options.threads = 1;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, MakeCpuDevice(*loop, options));
  const uint64_t samples = data.shape().rows;
  std::vector<uint32_t> rows(std::clamp<size_t>(batch, 1, samples));
  // Rows are spread over the data as in a shuffled batch, so that caches help no more than they
  // will in training.
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<uint32_t>(i * samples / rows.size());
  }
  std::vector<double> seconds;
  MOTLEY_RETURN_IF_ERROR(CallOnDevice(
      *loop, *device, [&] { return TimeSamples(model, *device, data, seed, rows, seconds); }));
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace motley
