// SPDX-License-Identifier: Apache-2.0
#include "reproduce/experiments.h"

#include <array>
#include <cctype>
#include <string>

namespace motley {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

}  // namespace

std::span<const Experiment> Experiments() {
  static const std::array kAll = {
      Experiment{"A1",
                 "sending each gradient when it is done, compared with codes: general gradients",
                 "Ozfatura, Ulukus, Gunduz: Coded Distributed Computing with Partial Recovery",
                 false, &RunGeneralGradients},
      Experiment{"A2", "the same as A1 for products with a matrix",
                 "Ozfatura, Ulukus, Gunduz: Coded Distributed Computing with Partial Recovery",
                 false, &RunMatrixProducts},
      Experiment{"A3", "the gain of counting the work of partial stragglers",
                 "Ramamoorthy, Meng, Girimaji: Leveraging partial stragglers within gradient "
                 "coding, NeurIPS 2024",
                 false, &RunPartialStragglers},
      Experiment{"A4", "the gain of loads that follow the speeds over equal ones",
                 "Wang, Guo, Tang, Li, Li: Heterogeneity-aware Gradient Coding for Straggler "
                 "Tolerance, ICDCS 2019",
                 false, &RunHeterogeneousGain},
      Experiment{"A5", "gradient codes over several rounds, on recorded times",
                 "Krishnan, Ebrahimi, Khisti: Sequential Gradient Coding for Straggler "
                 "Mitigation, ICLR 2023",
                 true, &RunSequentialCodes},
      Experiment{"A6", "the fraction of the gradients that Byzantine workers can corrupt",
                 "Konstantinidis, Ramamoorthy: ByzShield, MLSys 2021", false,
                 &RunCorruptedFractions},
      Experiment{"A7", "the error when more answers are missing than a code tolerates",
                 "Wang, Charles, Papailiopoulos: ErasureHead, 2019 (repetition: the law of lost "
                 "groups); Glasgow, Wootters: Approximate gradient coding with optimal decoding, "
                 "JSAIT 2021 (graphs); Kadhe, Koyluoglu, Ramchandran, 2019 (planes)",
                 false, &RunApproximateDecoders},
      Experiment{"A8", "decoding vectors of 256 workers",
                 "Codes: Halbawi et al. 2018. Times of decoding: Krishnan, Ebrahimi, Khisti, "
                 "ICLR 2023",
                 false, &RunDecodingTimes},
      Experiment{"S3.8", "all schemes on eight unequal workers: undisturbed, one slow, one dead",
                 "Step times relative to all work on the whole cluster. Schemes of Tandon et "
                 "al. 2017, Ozfatura et al. 2019, Wang et al. 2019 and Chen et al. 2020; adaptive "
                 "is ours, and no published figures exist for this cluster",
                 false, &RunClusterTable},
      Experiment{"S3.9", "details of the same cluster: worst places, late deaths, a busy link",
                 "The time of divisible work, and how near our adaptive scheme comes to it", false,
                 &RunClusterExtremes},
      Experiment{"lambda", "the gain of schemes over waiting for all workers, on recorded times",
                 "Krishnan, Ebrahimi, Khisti, ICLR 2023 (gradient coding); the rest is ours", true,
                 &RunRecordedGain},
      Experiment{"SPARe",
                 "stacked redundant shards that mask failures, beside replication and leases",
                 "Lee et al.: SPARe: Stacked Parallelism with Adaptive Reordering for "
                 "Fault-Tolerant LLM Pretraining Systems, arXiv 2603.00357, 2026 (its abstract)",
                 false, &RunStackedParallelism},
  };
  return kAll;
}

const Experiment* FindExperiment(std::string_view name) {
  for (const Experiment& experiment : Experiments()) {
    if (Lower(experiment.name) == Lower(name)) return &experiment;
  }
  return nullptr;
}

}  // namespace motley
