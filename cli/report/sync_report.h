// SPDX-License-Identifier: Apache-2.0
// Compares the time that one training needs with different modes of synchronisation, for
// `motley compare`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

// A version of the parameters that was evaluated.
struct CurvePoint {
  double seconds = 0;  // From the start of the job until the version was there.
  double loss = 0;
  std::optional<double> accuracy;  // Classifiers only.
};
using LearningCurve = std::vector<CurvePoint>;

// What a training has to reach.
struct SyncTarget {
  bool accuracy = false;  // At least this accuracy; false: at most this loss.
  double value = 0;

  bool ReachedBy(const CurvePoint& point) const;  // False if the loss is not finite.
  // The time of the first version that reaches it; none: no version does, or the training diverges
  // at last.
  std::optional<double> SecondsOf(const LearningCurve& curve) const;
  std::string Text() const;  // "accuracy 0.95"
};

// The length of a training.
struct TrainingWork {
  double seconds = 0;  // Until the last version.
  double samples = 0;  // Those that its updates stand for, each as often as it was used.
};

// All seeds of one mode, with one learning rate, on one cluster.
struct SyncTrial {
  std::string sync;
  std::string cluster;
  uint32_t workers = 0;
  double rate = 0;
  std::vector<LearningCurve> seeds;     // Not empty, and neither is any curve.
  std::vector<TrainingWork> work = {};  // By seed; empty: not known.
  std::string staleness = "none";       // As after --staleness.

  // One time for each seed that reaches the target.
  std::vector<double> SecondsTo(const SyncTarget& target) const;
  double FinalLoss() const;  // Mean over the seeds, as is the accuracy.
  std::optional<double> FinalAccuracy() const;
  // True if more seeds reach the target, or as many of them in less time, or if none of either
  // does, and the final loss is lower.
  bool BetterThan(const SyncTrial& other, const SyncTarget& target) const;
};

// Almost as good as what the mode of the first trial reaches, on the cluster and with the rate that
// are best for it. kInvalidArgument: it diverges on all clusters, with all rates.
Result<SyncTarget> DefaultTarget(const std::vector<SyncTrial>& trials, bool classes);

struct SyncComparison {
  std::string job;        // "digits.csv.gz, mlp:64, momentum, batch 32, 20 epochs"
  std::string staleness;  // "--staleness gap: asp", with the modes that have it; empty: none has.
  SyncTarget target;
  std::vector<SyncTrial> trials;  // One for each mode and cluster, at its best rate.
};

// Standard deviation of a sample; 0 for fewer than two values.
double Deviation(const std::vector<double>& values);

std::string SyncTable(const SyncComparison& comparison, size_t columns = 0);  // 0: no limit.
std::string SyncJson(const SyncComparison& comparison);
// The curve of each mode's first seed, in one panel for each cluster.
std::string SyncSvg(const SyncComparison& comparison);

}  // namespace motley
