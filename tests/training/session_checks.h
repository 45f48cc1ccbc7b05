// SPDX-License-Identifier: Apache-2.0
// Checks the sums of a ModelSession, on any device.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/training/test_data.h"
#include "training/models/model_session.h"

namespace motley {

struct SessionSum {
  std::vector<float> gradient;
  double loss = 0;
};

inline std::vector<float> RandomParameters(const Model& model, Random& random) {
  std::vector<float> parameters(model.parameter_count());
  for (float& value : parameters) value = static_cast<float>(0.4 * random.Normal());
  return parameters;
}

// Batches whose first rows have the weights 1, -1/2, 1/4, ..., and the last one other weights. They
// are added to values that are not 0.
inline SessionSum RunSession(ModelSession& session, const Model& model,
                             std::span<const float> parameters, std::span<const Dataset> batches,
                             std::optional<uint64_t> version = 1) {
  SessionSum sum{std::vector<float>(model.parameter_count(), 0.5f), 1};
  EXPECT_TRUE(session.Begin(parameters, version, sum.gradient).ok());
  // Values that were reported as final, at that time.
  std::vector<float> final(sum.gradient.size(), NAN);
  std::complex<double> final_loss = 0;
  size_t reported = 0;
  const ModelSession::Final tell = [&](size_t begin, size_t end, std::complex<double> loss) {
    for (size_t i = begin; i < end; ++i) {
      EXPECT_TRUE(std::isnan(final[i])) << i << " twice";
      final[i] = sum.gradient[i];
    }
    if (reported > 0) {
      EXPECT_EQ(loss, final_loss);
    }
    final_loss = loss;
    reported += end - begin;
  };
  double weight = 1;
  for (const Dataset& batch : batches) {
    const double turned = model.takes_complex_weights() ? weight / 2 : 0;
    const RowWeight rows[] = {{batch.rows() - 1, weight}, {1, {-weight / 3, turned}}};
    const bool last = &batch == &batches.back();
    EXPECT_TRUE(session.Add(batch, RowWeights(rows), last ? tell : nullptr).ok());
    weight = -weight / 2;
  }
  std::complex<double> loss = 0;
  EXPECT_TRUE(session.Finish(loss, tell).ok());
  sum.loss += loss.real();
  EXPECT_EQ(reported, final.size());
  EXPECT_EQ(final, sum.gradient);
  EXPECT_EQ(final_loss, loss);
  return sum;
}

// Covers every kind of model and data, with batches of unequal sizes and new parameters, with few
// batches and with more than the losses that stay on a device.
inline void ExpectTheSumsOfTheHost(Device& host, Device& device, Random& random) {
  for (const char* name : {"softmax", "mlp:9,5", "mlp:9,norm,5", "mlp:8,norm,6",
                           "cnn@4x3x1:3/5,norm", "cnn@4x3x1:4/6,norm", "factorization:3"}) {
    const uint32_t classes = std::string_view(name).starts_with("fact") ? 2 : 4;
    for (const char* kind : {"dense", "sparse", "bf16"}) {
      SCOPED_TRACE(testing::Message() << name << ", " << kind);
      const bool sparse = std::string_view(kind) == "sparse";
      const Storage storage = std::string_view(kind) == "bf16" ? Storage::kBf16 : Storage::kFloat32;
      ModelSpec spec = {name, 12, classes};
      if (sparse) spec.class_weights.assign(classes, 0.5f), spec.class_weights[1] = 2;
      const bool hidden = !std::string_view(name).starts_with("fact") && name[0] != 's';
      if (hidden && !sparse) spec.dropout = 0.25;
      const auto model = MakeModel(spec);
      ModelSession here(host, *model);
      ModelSession there(device, *model);
      for (uint64_t version = 1; version <= 2; ++version) {
        const std::vector<float> parameters = RandomParameters(*model, random);
        std::vector<Dataset> batches;
        for (uint64_t i = 0; i < (version == 1 ? 70 : 3); ++i) {
          Dataset batch = MakeSamples(12, classes, sparse, 1 + i * 3 % 11, i + version);
          const Status narrowed = sparse ? Status::Ok() : Narrow(batch, storage);
          ASSERT_TRUE(narrowed.ok());
          batches.push_back(std::move(batch));
        }
        const SessionSum want = RunSession(here, *model, parameters, batches, version);
        const SessionSum got = RunSession(there, *model, parameters, batches, version);
        EXPECT_NEAR(got.loss, want.loss, 1e-6 * (1 + std::abs(want.loss)));
        for (size_t i = 0; i < want.gradient.size(); ++i) {
          ASSERT_NEAR(got.gradient[i], want.gradient[i], 1e-5) << i;
        }
        std::vector<float> scores_here, scores_there;
        ASSERT_TRUE(here.Forward(parameters, version, batches[2], scores_here).ok());
        ASSERT_TRUE(there.Forward(parameters, version, batches[2], scores_there).ok());
        ASSERT_EQ(scores_here.size(), scores_there.size());
        for (size_t i = 0; i < scores_here.size(); ++i) {
          EXPECT_NEAR(scores_there[i], scores_here[i], 1e-5) << i;
        }
      }
    }
  }
}

}  // namespace motley
