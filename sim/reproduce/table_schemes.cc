// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/table_schemes.h"

#include <numeric>

#include "sim/reproduce/monte_carlo.h"

namespace motley {

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> MeanTimes(const ReproduceContext& context, uint64_t stream, uint64_t runs,
                              const TableScheme& scheme, const FaultCase& fault) {
  const auto estimates =
      MeansOfRuns(context, stream, runs / fault.places.size(), fault.places.size(),
                  [&](Random& random, std::span<double> figures) {
                    for (size_t i = 0; i < figures.size(); ++i) {
                      figures[i] = scheme.step(DrawSeconds(fault.places[i], random), random);
                    }
                  });
  std::vector<double> means;
  for (const Estimate& estimate : estimates) means.push_back(estimate.mean);
  return means;
}

}  // namespace motley
