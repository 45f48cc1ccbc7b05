// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/profile_command.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/fresh_ids.h"
#include "api/workers/worker_environment.h"
#include "base/host.h"
#include "cli/machine/hardware.h"
#include "cli/machine/link_probe.h"
#include "cli/machine/own_address.h"
#include "cli/machine/profile_cache.h"
#include "cli/report/profile_report.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/output_file.h"
#include "cli/terminal/phases.h"
#include "data/files/file_io.h"
#include "data/tables/table_view.h"
#include "devices/cpu/cpu_device.h"
#include "fmt/core.h"
#include "profiles/cost_fit.h"
#include "profiles/cost_model.h"
#include "runtime/job.h"
#include "runtime/memory_need.h"
#include "runtime/uv_loop.h"
#include "training/models/model_data.h"
#include "training/models/size_ladder.h"
#include "training/trainers/calibration.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr size_t kSampleRows = 2048;       // Samples used for measuring.
constexpr double kLadderPart = 0.8;        // Fraction of the time; the rest is for the link.
constexpr double kLeastLinkSeconds = 0.5;  // A link to another machine is slower than loopback.
constexpr double kWorthSaying = 0.5;       // Relative error of the curve that causes a warning.
constexpr int kDigits = 4;                 // Significant digits of measurements.
constexpr double kFlopsPerProduct = 6;     // Per product of a forward pass: 2 forward, 4 backward.

// The work that is measured.
struct Workload {
  std::unique_ptr<Model> model;
  Dataset samples;
  uint32_t entries = 0;  // Average number in a sparse sample.
};

Result<Workload> PrepareWorkload(const ProfileFlags& flags) {
  Workload work;
  ModelSpec spec = {.name = flags.model,
                    .features = flags.features,
                    .classes = ClassesFor(flags.model, flags.classes)};
  if (!flags.data.empty()) {
    ReadOptions options;
    options.label = flags.label;
    options.table = std::make_shared<TableReading>(TableOptions{});
    MOTLEY_ASSIGN_OR_RETURN(const OpenedData data, OpenDataFor(flags.model, flags.data, options));
    std::shared_ptr<const DataSource> samples = data.train;
    if (options.table->begun()) {
      MOTLEY_ASSIGN_OR_RETURN(
          const LearnedTable learned,
          LearnTable(*options.table, *samples, std::nullopt, data.class_labels.empty()));
      samples = std::make_shared<const TableView>(
          samples, std::make_shared<const TableSchema>(learned.schema), *options.table);
    }
    const DataShape shape = samples->shape();
    if (shape.rows == 0) {
      return Status::DataError(fmt::format("'{}' has no samples to measure with", flags.data));
    }
    MOTLEY_ASSIGN_OR_RETURN(work.samples,
                            samples->Range(0, std::min<size_t>(kSampleRows, shape.rows)));
    spec.features = shape.features;
    spec.classes = shape.classes;
  }
  MOTLEY_ASSIGN_OR_RETURN(work.model, Model::Create(spec));
  if (flags.data.empty()) work.samples = MakeUpSamples(spec, false, 0);
  if (work.samples.sparse) {
    work.entries = static_cast<uint32_t>(work.samples.column.size() / work.samples.rows());
  }
  return work;
}

double FlopsPerSample(const Workload& work) {
  const double entries = work.samples.sparse ? work.entries : work.samples.features;
  return kFlopsPerProduct * work.model->multiply_adds(entries);
}

// A profile with everything except measurements.
ClusterProfile Describe(const ProfileFlags& flags, const Workload& work, const Device& device) {
  ClusterProfile profile;
  profile.model = flags.model;
  profile.gradient_bytes = work.model->parameter_count() * sizeof(float);
  profile.step_flops = FlopsPerSample(work) * flags.batch;
  DeviceProfile& described = profile.workers.emplace_back().device;
  described.name = flags.name.empty() ? HostName() : flags.name;
  profile.name = described.name;
  described.memory_bytes = device.info().memory_bytes;
  described.hardware = ReadHardware();
  described.hardware.threads = device.info().threads;
  for (const KernelModule& module : CpuKernelModules()) {
    if (module.kernels != nullptr && described.hardware.driver.empty()) {
      described.hardware.driver = module.name;
    }
  }
  const MemoryNeed need = {
      .fixed_bytes = WorkerVectors() * VectorLength(work.model->parameter_count()) * sizeof(float),
      .bytes_per_sample =
          BlockBytes(2, work.samples.features, work.samples.sparse, 2 * work.entries) -
          BlockBytes(1, work.samples.features, work.samples.sparse, work.entries)};
  const double most = SamplesThatFit(described.memory_bytes, need);
  if (std::isfinite(most)) described.max_samples = static_cast<uint64_t>(most);
  return profile;
}

std::string CacheKey(const ProfileFlags& flags, const Workload& work,
                     const ClusterProfile& profile) {
  const Dataset& samples = work.samples;
  return DeviceIdentity(
      profile.workers.front().device,
      fmt::format("{} {} {} {} {} {} {}", MOTLEY_VERSION, flags.model, samples.features,
                  samples.classes, samples.sparse, work.entries, flags.batch));
}

Result<CostFit> MeasureCurve(UvLoop& loop, Device& device, const ProfileFlags& flags,
                             Workload& work, Phases& phases) {
  phases.Begin(fmt::format("measuring {} on {}, about {:.0f} s", flags.model, device.info().name,
                           flags.seconds));
  LadderOptions options;
  options.patience = FromSeconds(kLadderPart * flags.seconds);
  options.progress = [&](double part) { phases.Show(part); };
  std::optional<Result<std::vector<SizedTimes>>> times;
  MeasureLadder(loop, device, *work.model, work.samples, options,
                [&](Result<std::vector<SizedTimes>> result) {
                  times = std::move(result);
                  loop.Stop();
                });
  loop.Run();
  if (!times->ok()) return times->status().WithContext("cannot measure the device");
  std::vector<SizeMeasurement> sizes;
  for (const SizedTimes& rung : **times) {
    sizes.push_back({static_cast<double>(rung.samples), rung.seconds});
  }
  const Result<CostFit> fit = FitCost(sizes);
  if (!fit.ok()) return fit.status().WithContext("--seconds is too short to measure with");
  if (fit->worst_error > kWorthSaying && !flags.quiet) {
    phases.Erase();
    Warn(
        fmt::format("times of some sizes are up to {:.0f} % off the curve; an idle machine would "
                    "give a better fit. Measure longer with --seconds",
                    100 * fit->worst_error));
  }
  return fit;
}

// Rounds to the precision of a measurement, because users read the file.
double Rounded(double value) {
  const std::string text = fmt::format("{:.{}g}", value, kDigits);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

LinkDirection Rounded(const LinkDirection& way) {
  return {Rounded(way.latency_seconds), std::round(Rounded(way.bytes_per_second))};
}

void Round(WorkerProfile& worker) {
  DeviceProfile& device = worker.device;
  for (double* value :
       {&device.samples_per_second, &device.overhead_seconds, &device.knee_samples, &device.jitter,
        &device.tail_probability, &device.tail_factor, &device.hardware.bytes_per_second}) {
    *value = Rounded(*value);
  }
  const LinkDirection up = Rounded(worker.link.Up()), down = Rounded(worker.link.Down());
  worker.link = {up.latency_seconds, up.bytes_per_second, down};
}

Status Measure(UvLoop& loop, Device& device, const ProfileFlags& flags, Workload& work,
               ClusterProfile& profile) {
  Phases phases(flags.quiet);
  WorkerProfile& worker = profile.workers.front();
  MOTLEY_ASSIGN_OR_RETURN(const CostFit fit, MeasureCurve(loop, device, flags, work, phases));
  fit.ApplyTo(worker.device);
  phases.Begin("measuring memory and the link between processes");
  worker.device.hardware.bytes_per_second = MeasureMemory(loop, device);
  const Result<LinkProbe> link = ProbeLocalLink((1 - kLadderPart) * flags.seconds);
  if (link.ok()) {
    worker.link = link->link;
  } else {
    phases.Erase();
    Warn(fmt::format("the link is not measured: {}", link.status().ToString()));
  }
  Round(worker);
  return Status::Ok();
}

// Measures the link to the given server, which replaces this machine's own link.
Result<std::optional<ServerLink>> MeasureServer(const ProfileFlags& flags, WorkerProfile& worker) {
  if (flags.server.empty()) return std::optional<ServerLink>();
  Phases phases(flags.quiet);
  phases.Begin(fmt::format("measuring the link to {}", flags.server));
  LinkProbeOptions options;
  options.server = flags.server;
  options.token = TokenFromEnvironment();
  options.streams = flags.streams;
  options.seconds = std::max(kLeastLinkSeconds, (1 - kLadderPart) * flags.seconds);
  MOTLEY_ASSIGN_OR_RETURN(const LinkProbe probe, ProbeLink(options));
  worker.link = probe.link;
  Round(worker);
  return std::optional(ServerLink{flags.server, flags.streams, probe.loaded_latency_seconds});
}

Result<int> Serve(const ProfileFlags& flags) {
  const std::string given = TokenFromEnvironment();
  const std::string token = given.empty() ? FreshToken() : given;
  MOTLEY_RETURN_IF_ERROR(CheckToken(token, flags.serve));
  return ServeProbes(flags.serve, token, [&](const std::string& address) {
    (void)PrintResult(
        fmt::format("listening at {}. On other machines:\n"
                    "MOTLEY_TOKEN={} motley profile --server {}\n",
                    address, given.empty() ? token : "...", ReachableAddress(address)));
  });
}

Result<int> Run(const ProfileFlags& flags) {
  if (!flags.serve.empty()) return Serve(flags);
  if (!flags.server.empty() && TokenFromEnvironment().empty()) {
    return Status::InvalidArgument(
        "--server: set the environment variable MOTLEY_TOKEN to the server's token, which it "
        "prints (the command line is no place for secrets)");
  }
  MOTLEY_RETURN_IF_ERROR(CheckApartFromData("--out", flags.out, flags.data));
  MOTLEY_RETURN_IF_ERROR(CheckReplaced("--out", flags.out));
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                          MakeCpuDevice(*loop, {.threads = flags.threads}));
  MOTLEY_ASSIGN_OR_RETURN(Workload work, PrepareWorkload(flags));
  ClusterProfile profile = Describe(flags, work, *device);
  const std::string folder = ProfileCacheFolder();
  const std::string key = CacheKey(flags, work, profile);
  std::optional<ClusterProfile> kept;
  if (!flags.fresh) kept = FindProfile(folder, key);
  if (kept) {
    const std::string name = profile.name;
    profile = *std::move(kept);
    profile.name = profile.workers.front().device.name = name;
  } else {
    MOTLEY_RETURN_IF_ERROR(Measure(*loop, *device, flags, work, profile));
    const Status status = KeepProfile(folder, key, profile);
    if (!status.ok()) Warn(fmt::format("the profile is not kept: {}", status.ToString()));
  }
  MOTLEY_ASSIGN_OR_RETURN(const std::optional<ServerLink> server,
                          MeasureServer(flags, profile.workers.front()));
  if (!flags.out.empty()) {
    const std::string text = FormatClusterProfile(profile);
    const BytesView piece = std::as_bytes(std::span(text));
    MOTLEY_RETURN_IF_ERROR(WriteFileAtomically(flags.out, {&piece, 1}).WithContext("--out"));
  }
  return PrintResult(flags.json ? ProfileJson(profile, kept.has_value(), server)
                                : ProfileTable(profile, kept.has_value(), server));
}

}  // namespace

int RunProfile(const ProfileFlags& flags) {
  const Result<int> code = Run(flags);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace motley
