// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_need.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "coding/schemes.h"
#include "training/optimizers/optimizer_rule.h"
#include "training/trainers/callback_trainer.h"
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
// If other nodes own the shards, it holds the parameters of a step and the sum of a piece, and two
// more vectors to look at an answer again.
constexpr uint64_t kAuditOfOwners = 2;
constexpr uint64_t kAuditAgain = 2;
constexpr uint64_t kAuditInOwnMemory = 2;  // The parameters and a sum, if a trainer has its own.

constexpr uint64_t kParameterBuffers = 3;  // One in use, a newer one, and one that is arriving.
constexpr uint64_t kAnswers = 2;           // One being computed, and one on its way.
// Answers that travel in half of their bytes or less are kept in that form, too.
constexpr uint64_t kPackedAnswers = (kAnswers + 1) / 2;
constexpr uint64_t kMostCounted = 1u << 20;
// The program itself, with buffers of connections, and slices on their way at a worker.
constexpr uint64_t kProgramBytes = uint64_t{16} << 20;
constexpr uint64_t kSlicesBytes = uint64_t{16} << 20;

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

bool ByGap(const JobOptions& options) { return options.old_gradients == OldGradients::kGap; }

// Versions of the parameters beside those of the validator. Workers with updates of their own may
// each be sent another one, and updates by the gap keep what each open one was computed with.
uint64_t Versions(const JobOptions& options) {
  if (!options.sync.one_each) return kVersions;
  return kVersions + (ByGap(options) ? 2 : 1) * uint64_t{options.workers};
}

// Vectors of the optimizer's state.
uint64_t StateVectors(const JobOptions& options) {
  if (options.foreign == nullptr || !options.foreign->apply) {
    const uint64_t states = options.sync.own_momentum ? options.workers : 1;
    return OptimizerVectors(options.optimizer.name) * states;
  }
  const uint64_t count = options.foreign->parameter_count;
  return options.foreign->state_count / count + (options.foreign->state_count % count > 0 ? 1 : 0);
}

bool Saves(const JobOptions& options) { return options.checkpoint.every > 0; }

// Versions of the parameters that the validator holds.
uint64_t JudgedVersions(const JobOptions& options) {
  return options.validation.evaluates() ? 2 : 0;
}

// A checkpoint holds a version and a copy of the state until it is written. It writes the best
// version behind the state.
uint64_t CheckpointVectors(const JobOptions& options) {
  if (!Saves(options)) return 0;
  return (JudgedVersions(options) > 0 ? 2 : 1) * (1 + StateVectors(options));
}

// The copy of the state that the caller's trainer is shown.
uint64_t ShownVectors(const JobOptions& options) {
  const bool shows = options.foreign != nullptr && options.foreign->show;
  return shows ? StateVectors(options) : 0;
}

// Vectors of an audit that otherwise needs so many.
uint64_t AuditVectors(const JobOptions& options, uint64_t usual) {
  if (options.audit_fraction == 0) return 0;
  const bool own = options.foreign != nullptr && options.foreign->memory != nullptr;
  return usual + (own ? kAuditInOwnMemory : 0);
}

// Vectors of a server with the sums, the optimizer's state and so many versions.
uint64_t StarVectors(const JobOptions& options, uint64_t versions) {
  const uint64_t packed = options.wire == WireFormat::kFloat32 ? 0 : versions / 2;
  const uint64_t audit = AuditVectors(options, kAudit);
  return versions + packed + audit + kGradients + SumVectors(options) + StateVectors(options) +
         (ByGap(options) ? 1 : 0) + JudgedVersions(options) + CheckpointVectors(options) +
         ShownVectors(options);
}

// Vectors of a server whose workers hold the shards. First it sends what they start with. Later it
// reads versions to judge them (beside the best one and the one being evaluated), saves some with
// the state, and returns the last.
uint64_t CoordinatorVectors(const JobOptions& options) {
  const uint64_t state = StateVectors(options);
  const uint64_t start = options.resume != nullptr ? 1 + state : 1;
  const uint64_t shown = ShownVectors(options);
  const uint64_t read = std::max(1 + shown, CheckpointVectors(options));
  return std::max(start, read + shown + JudgedVersions(options));
}

// Vectors of its audits. Few steps are audited, so an audit seldom goes on while a version is read
// or written.
uint64_t AuditOfOwners(const JobOptions& options) { return AuditVectors(options, kAuditOfOwners); }

// Vectors that owners keep of a version while it is read for a checkpoint beside steps.
uint64_t KeptForCheckpoints(const JobOptions& options) {
  const bool beside = Saves(options) && options.checkpoint.every < options.steps;
  return beside ? 1 + StateVectors(options) : 0;
}

// Vectors of the shards that an average worker or shard server owns and follows.
double PartVectors(const JobOptions& options) {
  const bool sharded = options.holders == JobOptions::Holders::kShardServers;
  const double owners = std::max<double>(sharded ? options.shard_servers : options.workers, 1);
  const double followers = std::min<double>(options.followers, owners - 1);
  const auto state = static_cast<double>(StateVectors(options));
  // An owner has the newest version and the next one, as they travel too, and what a server has of
  // a sum. Of a follower's shard there are the newest version and the sum, or instead of it the
  // version before, where followers read.
  const double packed = options.wire == WireFormat::kFloat32 ? 0 : 0.5;
  const auto sums = static_cast<double>(kGradients + SumVectors(options));
  const auto kept = static_cast<double>(KeptForCheckpoints(options));
  return (2 + packed + state + sums + kept + followers * (2 + state)) / owners;
}

// Vectors of the shards that an average worker follows if there are too few shard servers for that.
double FollowedVectors(const JobOptions& options) {
  const double workers = std::max<double>(options.workers, 1);
  const double followers = std::clamp(options.followers + 1. - options.shard_servers, 0., workers);
  return followers * (2 + static_cast<double>(StateVectors(options))) / workers;
}

// Vectors of a worker beside those. While it is late with a step, it keeps the parameters of that
// step beside newer ones. An answer over a list is computed while another one leaves.
double WorkingVectors(const JobOptions& options) {
  const Scheme& scheme = SchemeNamed(options.code);
  const double answers = scheme.chosen_later() || scheme.in_pieces() ? 2 : 1;
  const double packed = options.wire == WireFormat::kFloat32 ? 0 : 0.5 * answers;
  const uint32_t kept = scheme.sharing == Sharing::kKeptRows ? options.tolerate + options.parts : 0;
  return (scheme.keeps_copies || scheme.chosen_later() ? 2 : 1) + answers + packed + kept;
}

}  // namespace

uint64_t ServerVectors(const JobOptions& options) {
  const bool elsewhere = options.holders == JobOptions::Holders::kWorkers ||
                         options.holders == JobOptions::Holders::kShardServers;
  if (!elsewhere) return StarVectors(options, Versions(options));
  const uint64_t audit = AuditOfOwners(options);
  return CoordinatorVectors(options) + audit + (audit > 0 ? kAuditAgain : 0);
}

UsualMemory UsualMemoryOf(const JobOptions& options, uint64_t parameters, bool at_workers) {
  const auto bytes = [parameters](double vectors) {
    return static_cast<uint64_t>(vectors * static_cast<double>(parameters) * sizeof(float));
  };
  UsualMemory usual;
  if (at_workers) usual.part = bytes(PartVectors(options)) + kSlicesBytes;
  const bool sharded = options.holders == JobOptions::Holders::kShardServers;
  usual.worker = kProgramBytes + bytes(WorkingVectors(options)) +
                 (sharded ? bytes(FollowedVectors(options)) : usual.part);
  const uint64_t server = at_workers ? std::max(CoordinatorVectors(options), AuditOfOwners(options))
                                     : StarVectors(options, 2);
  usual.server = kProgramBytes + bytes(static_cast<double>(server));
  return usual;
}

std::string DescribeMemory(const JobOptions& options, uint64_t parameters) {
  const auto words = [&](bool at_workers) {
    const UsualMemory usual = UsualMemoryOf(options, parameters, at_workers);
    const std::string text = fmt::format("about {} at the server and {} at each worker",
                                         Words(usual.server), Words(usual.worker));
    if (!at_workers) return text;
    return fmt::format("{}, of which {} for an average part of the vector", text,
                       Words(usual.part));
  };
  switch (options.holders) {
    case JobOptions::Holders::kServer:
      return fmt::format("needs {}, beside the samples", words(false));
    case JobOptions::Holders::kWorkers:
      return fmt::format("needs {}, beside the samples", words(true));
    case JobOptions::Holders::kShardServers: {
      const UsualMemory usual = UsualMemoryOf(options, parameters, true);
      return fmt::format(
          "needs about {} at the server, {} at each shard server and {} at each worker, beside the "
          "samples",
          Words(usual.server), Words(kProgramBytes + usual.part), Words(usual.worker));
    }
    case JobOptions::Holders::kChosen: break;
  }
  return fmt::format(
      "needs {}, beside the samples, if the server sums the vector; if the workers do, {}",
      words(false), words(true));
}

uint64_t MostVersions(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes) {
  if (memory_bytes == 0 || parameters == 0) return std::numeric_limits<uint64_t>::max();
  const uint64_t fit = memory_bytes / Times(parameters, sizeof(float));
  const uint64_t counted = StarVectors(options, Versions(options));
  const uint64_t checkpoint = options.checkpoint.every > 0 ? 1 : 0;
  // Sums get the other half of the rest (MostSums).
  return Versions(options) + JudgedVersions(options) + checkpoint +
         (fit > counted ? (fit - counted) / 2 : 0);
}

uint32_t MostSums(const JobOptions& options, uint64_t parameters, uint64_t memory_bytes) {
  if (memory_bytes == 0 || parameters == 0) return 0;
  const uint64_t fit = memory_bytes / Times(parameters, sizeof(float));
  const uint64_t others = StarVectors(options, Versions(options)) - SumVectors(options);
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
