// SPDX-License-Identifier: Apache-2.0
// What the step model foresees of a step, against what it takes in the simulator's jobs, for every
// scheme on ten clusters, undisturbed, with one worker slow and with one lost.
//
// The model and the job know the same. Nothing varies by chance; links take no time; every worker
// has all samples at hand, so that no data are sent; the straggler is slow within the time after
// which a job would give its work to another. Schemes whose work is given out once are compared in
// a job's first step, when nobody is busy with a step before it. Leases are compared when their
// reports have taught the job what they can.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "coding/schemes.h"
#include "planner/learned_shares.h"
#include "planner/planner.h"
#include "sim/sim_cluster.h"
#include "sim/simulated_scheme.h"

namespace motley {
namespace {

constexpr uint64_t kClusters = 10;
constexpr StepId kLearned = 40;  // Steps after which leases are compared.
constexpr double kSlower = 1.3;
constexpr uint32_t kSamplesPerWorker = 256;
// Partitions are moved whole, and each is a sixteenth of an equal share: what a job has learned of
// reports can be one of them better or worse than what the model takes for learned.
constexpr double kClose = 0.01, kLeasesClose = 0.025;

enum class Trouble { kNone, kSlow, kLost };

ClusterProfile Drawn(uint64_t seed) {
  Random random(seed, Stream::kTest);
  ClusterProfile cluster;
  cluster.name = fmt::format("drawn {}", seed);
  cluster.gradient_bytes = 1024;  // Links carry any number of them at once.
  const auto workers = 4 + random.Below(9);
  for (uint64_t w = 0; w < workers; ++w) {
    WorkerProfile worker;
    worker.device.samples_per_second = 100 * std::pow(8, random.NextDouble());
    cluster.workers.push_back(worker);
  }
  return cluster;
}

uint32_t BatchOf(const ClusterProfile& profile) {
  return kSamplesPerWorker * static_cast<uint32_t>(profile.workers.size());
}

// As the planner makes it.
Result<StepScheme> SchemeFor(const Candidate& candidate, const PlannedCluster& cluster) {
  SchemeRequest request;
  request.copies = candidate.copies;
  request.partitions = PartitionsFor(cluster);
  request.workers = StepWorkersOf(cluster, request.partitions);
  request.by_speed = true;
  request.samples = cluster.samples;
  const Scheme& traits = SchemeNamed(candidate.scheme);
  if (!traits.exact || traits.in_pieces()) return MakeStepScheme(candidate.scheme, request);
  MOTLEY_ASSIGN_OR_RETURN(LearnedScheme learned,
                          LearnShares(candidate.scheme, request, cluster, 1));
  return std::move(learned.scheme);
}

Result<double> Foreseen(const Candidate& candidate, const ClusterProfile& profile,
                        Trouble trouble) {
  PlannedJob job;
  job.samples = BatchOf(profile);
  PlannedCluster cluster = ClusterOf(profile, job);
  cluster.doubt = 0;
  MOTLEY_ASSIGN_OR_RETURN(const StepScheme scheme, SchemeFor(candidate, cluster));
  StepModelOptions options;
  options.truth.resize(profile.workers.size());
  if (trouble == Trouble::kSlow) options.truth[0].slowdown = kSlower;
  if (trouble == Trouble::kLost) options.truth[0].dies_at = 0;
  StepSetting truth;
  truth.work = scheme.setting->work;
  truth.data_seconds = 0;
  truth.workers = StepWorkersOf(cluster, static_cast<uint32_t>(scheme.setting->holders.size()));
  const auto policy = scheme.policy();
  return RunStepModel(truth, *policy, options).seconds;
}

Result<double> Simulated(const Candidate& candidate, const ClusterProfile& profile,
                         Trouble trouble) {
  const StepId step = SchemeNamed(candidate.scheme).leases() ? kLearned : 0;
  const SimulatedJobCode code = SimulatedCodeOf(candidate);
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster = profile;
  options.samples = BatchOf(profile);
  options.job.workers = static_cast<uint32_t>(profile.workers.size());
  options.job.batch = BatchOf(profile);
  options.job.code = code.code;
  options.job.tolerate = code.tolerate;
  options.job.parts = code.parts;
  options.job.steps = step + 2;
  options.job.audit_fraction = 0;
  if (trouble == Trouble::kSlow) {
    options.faults.push_back(
        {.kind = Fault::Kind::kSlow, .worker = 0, .step = step, .factor = kSlower});
  } else if (trouble == Trouble::kLost) {
    options.faults.push_back({.kind = Fault::Kind::kKill, .worker = 0, .step = step});
  }
  const Dataset data = MakeSyntheticDataset(options.job.batch, 4, 0, 1);
  MOTLEY_ASSIGN_OR_RETURN(const SimResult result, Simulate(options, data, nullptr));
  if (!result.violations.empty()) return Status::Internal(result.violations.front());
  MOTLEY_RETURN_IF_ERROR(result.job.status);
  return result.job.step_seconds.at(step);
}

// The fewest copies with which the scheme can miss a worker.
Candidate CandidateOf(const Scheme& scheme) {
  uint32_t copies = scheme.least_copies;
  while (scheme.keeps_copies && scheme.Tolerates(copies) == 0) ++copies;
  return {scheme.name, copies};
}

void Compare(Trouble trouble) {
  for (const Scheme& scheme : Schemes()) {
    if (scheme.least_copies == 0) continue;
    const Candidate candidate = CandidateOf(scheme);
    for (uint64_t seed = 1; seed <= kClusters; ++seed) {
      const ClusterProfile profile = Drawn(seed);
      const Result<double> foreseen = Foreseen(candidate, profile, trouble);
      const Result<double> simulated = Simulated(candidate, profile, trouble);
      ASSERT_TRUE(foreseen.ok()) << scheme.name << ": " << foreseen.status().ToString();
      ASSERT_TRUE(simulated.ok()) << scheme.name << ": " << simulated.status().ToString();
      EXPECT_NEAR(*foreseen / *simulated, 1, scheme.leases() ? kLeasesClose : kClose)
          << scheme.name << ", cluster " << seed << ": foreseen " << *foreseen << " s, simulated "
          << *simulated << " s";
    }
  }
}

TEST(StepModelAgreesWithJobs, Undisturbed) { Compare(Trouble::kNone); }
TEST(StepModelAgreesWithJobs, WithOneWorkerSlow) { Compare(Trouble::kSlow); }
TEST(StepModelAgreesWithJobs, WithOneWorkerLost) { Compare(Trouble::kLost); }

}  // namespace
}  // namespace motley
