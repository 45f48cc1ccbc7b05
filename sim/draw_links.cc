// SPDX-License-Identifier: Apache-2.0
#include "sim/draw_links.h"

#include "base/random.h"
#include "coding/schemes.h"
#include "scheduler/rows/send_grants.h"

namespace motley {
namespace {

constexpr uint64_t kSurveyDraws = 66, kWireDraws = 67, kGrantDraws = 69, kFarDraws = 75;
constexpr uint64_t kFollowerDraws = 76;
constexpr double kMostBytes = 4 * 512;  // The longest vector of a scenario.
constexpr uint32_t kMostSurveyed = 5;   // Workers. Measuring the links of more takes long.

void SurveyLinks(SimOptions& options) {
  Random random(options.seed, Stream::kSimulation, kSurveyDraws);
  JobOptions& job = options.job;
  if (!random.Chance(0.08) || job.workers > kMostSurveyed) return;
  using Holders = JobOptions::Holders;
  job.holders = random.Chance(0.5) ? Holders::kChosen : Holders::kWorkers;
  job.modelled_floats = (1 + random.Below(64)) << 18;
  job.followers = 1 + random.Below(2);
  job.read_every_version = true;
}

// No follower, or the most. Without any, the first owner that leaves ends the job.
void DrawFewestOrMostFollowers(SimOptions& options) {
  Random random(options.seed, Stream::kSimulation, kFollowerDraws);
  JobOptions& job = options.job;
  if (job.holders == JobOptions::Holders::kServer || !random.Chance(0.15)) return;
  job.followers = random.Chance(0.4) ? 0 : 3;
}

void RoundVectors(SimOptions& options) {
  Random random(options.seed, Stream::kSimulation, kWireDraws);
  JobOptions& job = options.job;
  if (!random.Chance(0.15) || SchemeNamed(job.code).weighs) return;
  constexpr size_t kFirst = 1;  // float32 rounds nothing.
  const size_t others = std::size(kWireForms) - kFirst - 1;
  const bool first = random.Chance(0.5);
  job.wire = kWireForms[first ? kFirst : kFirst + 1 + random.Below(others)].format;
  job.unweighted = true;
  job.audit_fraction = 0;
}

void HoldAnswers(SimOptions& options) {
  Random random(options.seed, Stream::kSimulation, kGrantDraws);
  if (!AnswersMayWait(options.job)) return;
  if (random.Chance(0.2)) {
    options.job.grant_sends = true;
    options.job.keep_reserve = random.Chance(0.5);
  } else if (random.Chance(0.125) && options.job.modelled_floats == 0) {
    // Measuring a link for a long vector would take minutes on it.
    const double seconds = 0.02 + 0.1 * random.NextDouble();  // For the longest vector.
    options.server_bytes_per_second = kMostBytes / seconds;
  }
}

// An owner that answers, and holds up each update.
void MoveAnOwnerAway(SimOptions& options) {
  Random random(options.seed, Stream::kSimulation, kFarDraws);
  const JobOptions& job = options.job;
  const bool spared = job.workers >= job.followers + 2;
  if (job.holders != JobOptions::Holders::kWorkers || !spared || !random.Chance(0.3)) return;
  const auto far = static_cast<size_t>(random.Below(job.workers));
  options.cluster.workers[far].link.latency_seconds = 0.04;
}

}  // namespace

void DrawLinks(SimOptions& options) {
  SurveyLinks(options);
  DrawFewestOrMostFollowers(options);
  RoundVectors(options);
  HoldAnswers(options);
  MoveAnOwnerAway(options);
}

}  // namespace motley
