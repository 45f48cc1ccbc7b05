// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/overlap_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "benchmarks/cases/run_trainer.h"
#include "devices/device_list.h"
#include "devices/forwarding_device.h"
#include "runtime/uv_loop.h"
#include "sim/sim_cluster.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr double kLink = 125e6;  // Bytes per second: 1 Gbit/s.

// Runs everything in the order of the calls, so that copies do not overlap kernels.
class InOrderDevice final : public ForwardingDevice<> {
 public:
  using ForwardingDevice::ForwardingDevice;
  Moment Mark() override { return kNow; }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }
};

struct Gradient {
  const Model& model;
  const Dataset& data;
  std::vector<float> parameters;
};

// Sums one gradient of all samples, as a worker does.
class Summer {
 public:
  Summer(UvLoop& loop, Device& device, const Gradient& gradient)
      : loop_(loop), of_(gradient), sum_(VectorLength(gradient.model.parameter_count())) {
    const auto rows = static_cast<uint32_t>(gradient.data.rows());
    store_[0] = std::make_shared<MemorySource>(gradient.data);
    trainer_ =
        MakeModelTrainer(loop, device, gradient.model, store_, BatchSchedule(1, {rows}, rows));
  }

  // Parameters are new each time, as in each step.
  Status Sum() {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    const PartitionTerm term{.begin = 0, .end = 1, .coefficient = 1};
    GradientWork work;
    work.version = ++version_;
    work.parameters = of_.parameters;
    work.terms = {&term, 1};
    work.sum = sum_;
    const Time began = loop_.Now();
    final_.clear();
    work.final = [&](size_t begin, size_t end, const Tally&) {
      final_.push_back({loop_.Now() - began, (end - begin) * sizeof(float)});
    };
    const Status status = RunTrainer(loop_, *trainer_, std::move(work));
    done_ = loop_.Now() - began;
    return status;
  }
  const std::vector<float>& sum() const { return sum_; }

  // Seconds until a link has sent all of the last sum, if ranges leave when they are final.
  double SentEarly() const {
    double free = 0;
    for (const Final& range : final_) {
      free = std::max(free, ToSeconds(range.time)) + static_cast<double>(range.bytes) / kLink;
    }
    return free;
  }
  // Seconds until a link has sent all of the last sum, if it leaves when it is complete.
  double SentWhole() const {
    return ToSeconds(done_) + static_cast<double>(sum_.size() * sizeof(float)) / kLink;
  }

 private:
  UvLoop& loop_;
  const Gradient& of_;
  PartitionStore store_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<float> sum_;
  uint64_t version_ = 0;
  struct Final {
    Duration time;
    size_t bytes;
  };
  std::vector<Final> final_;
  Duration done_{};
};

// The best of a few medians each; the contenders alternate.
Status BenchGradient(const BenchOptions& options, UvLoop& loop, Device& device,
                     const Gradient& gradient, std::vector<BenchLine>& lines) {
  InOrderDevice in_order(device);
  Summer beside(loop, device, gradient);
  Summer after(loop, in_order, gradient);
  MOTLEY_RETURN_IF_ERROR(beside.Sum());
  MOTLEY_RETURN_IF_ERROR(after.Sum());
  if (beside.sum() != after.sum()) {
    return Status::Internal(fmt::format("{}: copies beside kernels change the gradient of {}",
                                        device.info().name, gradient.model.spec().name));
  }
  BenchOptions turn = options;
  turn.full = false;
  double best[2] = {HUGE_VAL, HUGE_VAL};
  Status failure;
  for (int round = 0; round < (options.full ? 9 : 1); ++round) {
    for (Summer* summer : {&beside, &after}) {
      const double seconds = MedianSeconds(turn, [&] {
        if (failure.ok()) failure = summer->Sum();
      });
      double& least = best[summer == &beside ? 0 : 1];
      least = std::min(least, seconds);
    }
  }
  const auto rows = static_cast<double>(gradient.data.rows());
  lines.push_back({fmt::format("{}: {}", device.info().name, gradient.model.spec().name),
                   "samples/s", rows / best[0], "in order", rows / best[1]});
  return failure;
}

// Time until a row's vector is sent over a modelled link, from when its ranges were final.
Status BenchAnswer(const BenchOptions& options, UvLoop& loop, Device& device,
                   const Gradient& gradient, std::vector<BenchLine>& lines) {
  Summer summer(loop, device, gradient);
  std::vector<double> early, whole;
  for (int round = 0; round < (options.full ? 21 : 3); ++round) {
    MOTLEY_RETURN_IF_ERROR(summer.Sum());
    early.push_back(summer.SentEarly());
    whole.push_back(summer.SentWhole());
  }
  for (std::vector<double>* seconds : {&early, &whole}) std::sort(seconds->begin(), seconds->end());
  lines.push_back(
      {fmt::format("{}: {}, {} samples, sent over 1 Gbit/s as it is computed", device.info().name,
                   gradient.model.spec().name, gradient.data.rows()),
       "answers/s", 1 / early[early.size() / 2], "when it is done", 1 / whole[whole.size() / 2]});
  return Status::Ok();
}

}  // namespace

Result<std::vector<BenchLine>> BenchOverlap(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  const uint32_t features = options.full ? 784 : 20;
  const Dataset data = MakeSyntheticDataset(options.full ? 8192 : 2500, features, 10, 1);
  for (const ListedDevice& listed : ListDevices()) {
    if (!listed.usable() || listed.kind == DeviceKind::kCpu) continue;
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, listed.make(*loop, 0));
    for (const char* name : {"softmax", "mlp:256", "mlp:1024,1024"}) {
      if (!options.full && std::string_view(name).find("1024") != std::string_view::npos) continue;
      MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                              Model::Create({name, features, 10}));
      Gradient gradient{*model, data, std::vector<float>(model->parameter_count())};
      model->Initialize(1, gradient.parameters);
      MOTLEY_RETURN_IF_ERROR(BenchGradient(options, *loop, *device, gradient, lines));
    }
  }
  return lines;
}

Result<std::vector<BenchLine>> BenchAnswers(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  const uint32_t features = options.full ? 784 : 20;
  const Dataset row = MakeSyntheticDataset(64, features, 10, 2);
  for (const ListedDevice& listed : ListDevices()) {
    if (!listed.usable()) continue;
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, listed.make(*loop, 0));
    for (const char* name : {"mlp:256", "mlp:1024,1024", "mlp:512,512,512,512"}) {
      if (!options.full && std::string_view(name) != "mlp:256") continue;
      MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                              Model::Create({name, features, 10}));
      Gradient gradient{*model, row, std::vector<float>(model->parameter_count())};
      model->Initialize(1, gradient.parameters);
      MOTLEY_RETURN_IF_ERROR(BenchAnswer(options, *loop, *device, gradient, lines));
    }
  }
  return lines;
}

}  // namespace motley
