// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "coding/schemes.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/trainers/term_work.h"

namespace motley {
namespace {

// Versions of the parameters: the newest, the one being made, one that an audit reads, and one that
// a slow worker has not read to its end.
constexpr uint64_t kVersions = 4;
constexpr uint64_t kGradients = 1;
// An audit holds the decoded gradient, that of a piece, and moved parameters to look at an answer
// again. The first step is audited as well.
constexpr uint64_t kAudit = 3;

constexpr uint64_t kParameterBuffers = 3;  // One in use, a newer one, and one that is arriving.
constexpr uint64_t kAnswers = 2;           // One being computed, and one on its way.
// Versions and answers that travel in half of their bytes or less are kept in that form, too.
constexpr uint64_t kPackedVersions = kVersions / 2;
constexpr uint64_t kPackedAnswers = (kAnswers + 1) / 2;
constexpr uint64_t kMostCounted = 1u << 20;

uint64_t Times(uint64_t a, uint64_t b) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return a != 0 && b > kMost / a ? kMost : a * b;
}

std::string Words(uint64_t bytes) {
  constexpr uint64_t kMib = 1u << 20, kGib = 1u << 30;
  const auto in = [bytes](uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  return bytes < kGib ? fmt::format("{:.2f} MiB", in(kMib)) : fmt::format("{:.2f} GiB", in(kGib));
}

// Vectors for the sum and the answers of a step.
uint64_t SumVectors(const JobOptions& options) {
  const Scheme& scheme = SchemeNamed(options.code);
  if (options.sync.one_each) return options.workers;  // The sums of all updates that are open.
  if (!scheme.keeps_copies) return 1;
  if (scheme.leases()) return options.workers;  // One vector of each worker may be arriving.
  // Every row is kept until the step ends, and an audit weighs the parts of its sum.
  if (!scheme.exact) return uint64_t{options.workers} + 1;
  // There are as many sums as parts, and half of one beside them.
  if (scheme.sharing == Sharing::kKeptRows) return 2;
  // There are accumulators of a part's length, and half of one.
  if (scheme.has_parts) {
    const uint64_t half_parts = 2 * std::max<uint64_t>(options.parts, 1);
    return 1 + (2 * uint64_t{options.tolerate} + half_parts) / half_parts;
  }
  // With the gradient's buffer there are s + 2: accumulators, or one sum and answers that wait.
  return uint64_t{options.tolerate} + 1;
}

// Versions of the parameters beside those of the validator. Workers with updates of their own may
// each be sent another one.
uint64_t Versions(const JobOptions& options) {
  return kVersions + (options.sync.one_each ? options.workers : 0);
}

// Versions of the parameters that the validator holds.
uint64_t JudgedVersions(const JobOptions& options) {
  return options.validation.samples != nullptr ? 2 : 0;
}

}  // namespace

uint64_t ServerVectors(const JobOptions& options) {
  const uint64_t sums = SumVectors(options);
  const uint64_t state = OptimizerVectors(options.optimizer.name);
  // A checkpoint holds a version and a copy of the state until it is written.
  const uint64_t checkpoint = options.checkpoint.every > 0 ? 1 + state : 0;
  // The validator holds the best version and the one being evaluated. A checkpoint writes the best
  // behind the state.
  const uint64_t judged = JudgedVersions(options);
  const uint64_t joined = judged > 0 && options.checkpoint.every > 0 ? 1 + state : 0;
  const uint64_t packed = options.wire == WireFormat::kFloat32 ? 0 : kPackedVersions;
  return Versions(options) + kGradients + kAudit + sums + state + checkpoint + judged + joined +
         packed;
}

uint64_t MostVersions(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes) {
  if (memory_bytes == 0 || parameters == 0) return std::numeric_limits<uint64_t>::max();
  const uint64_t fit = memory_bytes / Times(parameters, sizeof(float));
  const uint64_t counted = ServerVectors(options);
  const uint64_t checkpoint = options.checkpoint.every > 0 ? 1 : 0;
  // Sums get the other half of the rest (MostSums).
  return Versions(options) + JudgedVersions(options) + checkpoint +
         (fit > counted ? (fit - counted) / 2 : 0);
}

uint32_t MostSums(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes) {
  if (memory_bytes == 0 || parameters == 0) return 0;
  const uint64_t fit = memory_bytes / Times(parameters, sizeof(float));
  const uint64_t others = ServerVectors(options) - SumVectors(options);
  // Memory that one code took is kept when another code follows.
  const uint64_t room = fit > others ? (fit - others) / 2 : 0;
  return static_cast<uint32_t>(std::clamp<uint64_t>(room, 1, kMostCounted));
}

uint64_t WorkerVectors(WireFormat wire) {
  return kParameterBuffers + kAnswers + (wire == WireFormat::kFloat32 ? 0 : kPackedAnswers);
}

Status CheckMemory(std::string_view who, uint64_t parameters, uint64_t vectors,
                   uint64_t memory_bytes) {
  const uint64_t needed = Times(Times(parameters, sizeof(float)), vectors);
  if (memory_bytes == 0 || needed <= memory_bytes) return Status::Ok();
  return Status::Resource(fmt::format(
      "{}: a model of {} parameters needs {} ({} vectors of {}), and {} may be used here: take a "
      "smaller model or fewer workers, tolerate fewer stragglers, or add memory",
      who, parameters, Words(needed), vectors, Words(Times(parameters, sizeof(float))),
      Words(memory_bytes)));
}

Status CheckDevice(const Device& device, const Model& model) {
  const uint64_t memory_bytes = device.info().memory_bytes;
  if (device.host_accessible() || memory_bytes == 0) return Status::Ok();
  const uint64_t parameters = model.parameter_count();
  const uint64_t least = LeastBytes(model);
  if (least <= memory_bytes) return Status::Ok();
  return Status::Resource(fmt::format(
      "the device {} needs {} for a model of {} parameters (these, their gradient, and what a "
      "sample takes) and has {}: leave it out of `devices`, or take a smaller model",
      device.info().name, Words(least), parameters, Words(memory_bytes)));
}

Status NoMemory(std::string_view what) {
  return Status::Resource(fmt::format(
      "there is no memory for {}: take a smaller model or batch, or free memory", what));
}

}  // namespace motley
