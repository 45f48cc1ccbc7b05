// SPDX-License-Identifier: Apache-2.0
#include "training/models/model.h"

#include <algorithm>

#include "training/models/architecture.h"
#include "training/models/factorization.h"
#include "training/models/layered_model.h"
#include "training/models/model_session.h"

namespace motley {

double WeightOf(const ModelSpec& spec, std::span<const float> labels) {
  if (spec.class_weights.empty()) return static_cast<double>(labels.size());
  double sum = 0;
  for (const float label : labels) sum += spec.class_weights[static_cast<size_t>(label)];
  return sum;
}

Result<std::unique_ptr<Model>> Model::Create(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const Architecture plan, PlanModel(spec));
  return plan.layers.empty() ? MakeFactorizationMachine(spec, plan) : MakeLayeredModel(spec, plan);
}

bool Model::takes_complex_weights() const {
  const auto even = [](const ParameterRange& range) { return range.shape.back() % 2 == 0; };
  return std::all_of(ranges().begin(), ranges().end(), even);
}

Status Model::AddGradient(Device& device, std::span<const float> parameters, const Dataset& batch,
                          double weight, std::span<float> gradient, double& loss,
                          const BatchOrigin& origin) const {
  ModelSession session(device, *this);
  MOTLEY_RETURN_IF_ERROR(session.Begin(parameters, std::nullopt, gradient));
  const RowWeight all{.rows = batch.rows(), .weight = weight};
  MOTLEY_RETURN_IF_ERROR(session.Add(batch, RowWeights(&all, 1), nullptr, origin));
  return session.Finish(loss);
}

Status Model::Forward(Device& device, std::span<const float> parameters, const Dataset& batch,
                      std::vector<float>& outputs) const {
  return ModelSession(device, *this).Forward(parameters, std::nullopt, batch, outputs);
}

}  // namespace motley
