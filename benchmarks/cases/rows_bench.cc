// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/rows_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "base/random.h"
#include "benchmarks/cases/run_trainer.h"
#include "coding/kernels/combine.h"
#include "devices/device_list.h"
#include "runtime/uv_loop.h"
#include "sim/sim_cluster.h"
#include "training/trainers/trainer.h"

namespace motley {
namespace {

constexpr PartitionId kPartitions = 16;

// A worker's samples of one step, and its answer for a row over them.
class RowSummer {
 public:
  RowSummer(UvLoop& loop, Device& device, const Model& model, const Dataset& data, uint32_t samples)
      : loop_(loop), samples_(samples), parameters_(model.parameter_count()) {
    model.Initialize(1, parameters_);
    sum_.resize(VectorLength(parameters_.size()));
    const std::vector<uint32_t> sizes(kPartitions, samples / kPartitions);
    const MemorySource all(data);
    for (PartitionId p = 0; p < kPartitions; ++p) {
      Result<Dataset> part = all.Range(p * sizes[p], (p + 1) * sizes[p]);
      MOTLEY_ASSERT(part.ok());
      store_[p] = std::make_shared<MemorySource>(*std::move(part));
    }
    trainer_ = MakeModelTrainer(loop, device, model, store_, BatchSchedule(1, sizes, samples));
  }

  // Parameters are new each time, as in each step.
  Status Sum(std::span<const PartitionTerm> terms) {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    GradientWork work;
    work.version = ++version_;
    work.parameters = parameters_;
    work.terms = terms;
    work.sum = sum_;
    return RunTrainer(loop_, *trainer_, std::move(work));
  }
  const std::vector<float>& sum() const { return sum_; }
  uint32_t samples() const { return samples_; }

 private:
  UvLoop& loop_;
  uint32_t samples_;
  std::vector<float> parameters_;
  PartitionStore store_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<float> sum_;
  uint64_t version_ = 0;
};

// Partitions in `count` runs, each with its own coefficient of magnitude about 1.
std::vector<PartitionTerm> Terms(uint32_t count, bool complex) {
  Random random(count, Stream::kTest);
  std::vector<PartitionTerm> terms;
  for (uint32_t i = 0; i < count; ++i) {
    const Complex coefficient =
        complex ? std::polar(1.0, 6.0 * random.NextDouble()) : Complex(0.5 + random.NextDouble());
    terms.push_back({.begin = i * kPartitions / count,
                     .end = (i + 1) * kPartitions / count,
                     .coefficient = coefficient});
  }
  return terms;
}

// The sum must equal that of its terms computed one by one.
Status CheckSum(RowSummer& summer, std::span<const PartitionTerm> terms, const std::string& what) {
  std::vector<float> expected(summer.sum().size());
  for (const PartitionTerm& term : terms) {
    PartitionTerm alone = term;
    alone.coefficient = 1;
    MOTLEY_RETURN_IF_ERROR(summer.Sum({&alone, 1}));
    reference::AddWeighted(Field::kComplexPacked, term.coefficient, summer.sum(), expected);
  }
  MOTLEY_RETURN_IF_ERROR(summer.Sum(terms));
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error += std::pow(double{summer.sum()[i]} - expected[i], 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  constexpr double kMostError = 1e-5;
  if (std::sqrt(error) <= kMostError * std::sqrt(norm)) return Status::Ok();
  return Status::Internal(
      fmt::format("{}: the row is off by {:.3g} of its norm", what, std::sqrt(error / norm)));
}

struct Case {
  const char* model;
  uint32_t samples;
  uint32_t coefficients;
  bool complex;
};

Status BenchRow(const BenchOptions& options, const Case& one, const std::string& device,
                RowSummer& summer, std::vector<BenchLine>& lines) {
  const std::string what = fmt::format("{}: {}, {} samples, {} {}", device, one.model, one.samples,
                                       one.coefficients, one.complex ? "complex" : "real");
  const std::vector<PartitionTerm> coded = Terms(one.coefficients, one.complex);
  const PartitionTerm plain{.begin = 0, .end = kPartitions, .coefficient = 1};
  MOTLEY_RETURN_IF_ERROR(CheckSum(summer, coded, what));
  BenchOptions turn = options;
  turn.full = false;
  double best[2] = {HUGE_VAL, HUGE_VAL};
  Status failure;
  for (int round = 0; round < (options.full ? 9 : 1); ++round) {
    const std::span<const PartitionTerm> kinds[2] = {coded, {&plain, 1}};
    for (size_t kind = 0; kind < 2; ++kind) {
      best[kind] = std::min(best[kind], MedianSeconds(turn, [&] {
                              if (failure.ok()) failure = summer.Sum(kinds[kind]);
                            }));
    }
  }
  lines.push_back(
      {what, "samples/s", one.samples / best[0], "one coefficient", one.samples / best[1]});
  return failure;
}

}  // namespace

Result<std::vector<BenchLine>> BenchRows(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  const uint32_t features = options.full ? 784 : 20;
  const Dataset data = MakeSyntheticDataset(512, features, 10, 1);
  for (const ListedDevice& listed : ListDevices()) {
    if (!listed.usable()) continue;
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            listed.make(*loop, options.threads));
    for (const char* name : {"mlp:256", "mlp:1024,1024"}) {
      if (!options.full && std::string_view(name).find("1024") != std::string_view::npos) continue;
      MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<Model> model,
                              Model::Create({name, features, 10}));
      for (const uint32_t samples : {64U, 512U}) {
        RowSummer summer(*loop, *device, *model, data, samples);
        for (const uint32_t coefficients : {2U, 4U, 16U}) {
          for (const bool complex : {false, true}) {
            MOTLEY_RETURN_IF_ERROR(BenchRow(options, {name, samples, coefficients, complex},
                                            listed.Label(), summer, lines));
          }
        }
      }
    }
  }
  return lines;
}

}  // namespace motley
