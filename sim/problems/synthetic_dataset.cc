// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint64_t kDatasetDraws = 10;  // Its own stream of the simulation's draws.
constexpr double kSpread = 1.5;         // Standard deviation of the centres; samples have 1.

std::vector<float> Gaussians(Random& random, size_t count, double scale) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(scale * random.Normal());
  return values;
}

}  // namespace

Dataset MakeSyntheticDataset(uint32_t samples, uint32_t features, uint32_t classes, uint64_t seed) {
  Random random(seed, Stream::kSimulation, kDatasetDraws);
  Dataset data;
  data.features = features;
  data.classes = classes;
  // The centres of the classes, or without classes the vector of weights that gives the labels.
  const std::vector<float> centres =
      Gaussians(random, static_cast<size_t>(classes == 0 ? 1 : classes) * features, kSpread);
  data.dense = Gaussians(random, static_cast<size_t>(samples) * features, 1);
  data.label.resize(samples);
  for (uint32_t sample = 0; sample < samples; ++sample) {
    float* x = &data.dense[static_cast<size_t>(sample) * features];
    if (classes == 0) {
      float product = 0;
      for (uint32_t f = 0; f < features; ++f) product += x[f] * centres[f];
      const double noise = 0.1 * random.Normal();
      data.label[sample] = product + static_cast<float>(noise);
      continue;
    }
    const uint32_t label = static_cast<uint32_t>(random.Below(classes));
    data.label[sample] = static_cast<float>(label);
    for (uint32_t f = 0; f < features; ++f)
      x[f] += centres[static_cast<size_t>(label) * features + f];
  }
  return data;
}

}  // namespace motley
