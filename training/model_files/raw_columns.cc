// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/raw_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "data/tables/table_schema.h"
#include "training/models/architecture.h"

namespace motley {
namespace {

// feature = (raw - mean) * factor; label = output * target_factor + target_mean.
struct Scaling {
  std::vector<double> mean;
  std::vector<double> factor;  // 0: a constant column.
  double target_mean = 0;
  double target_factor = 1;
};

Result<Scaling> ScalingOf(const SavedModel& about) {
  Scaling scaling;
  const uint32_t features = about.spec.features;
  scaling.mean.assign(features, 0);
  scaling.factor.assign(features, about.input_scale);
  if (about.table.empty()) return scaling;
  MOTLEY_ASSIGN_OR_RETURN(const TableSchema table, ParseTableSchema(about.table));
  scaling.target_mean = table.target_mean;
  scaling.target_factor = table.target_deviation;
  size_t at = 0;
  for (const TableColumn& column : table.columns) {
    if (at + column.features() > features) {
      return Status::Internal("a table with more features than its model");
    }
    if (!column.text) {
      scaling.mean[at] = column.mean;
      scaling.factor[at] = column.deviation > 0 ? about.input_scale / column.deviation : 0;
    }
    at += column.features();
  }
  return scaling;
}

// Weight [inputs, outputs] and bias [outputs] of a layer.
struct Layer {
  std::span<float> weight;
  std::span<float> bias;
};

Layer FirstLayer(const Model& model, std::span<float> parameters) {
  const auto& ranges = model.ranges();
  return {parameters.subspan(ranges[0].offset, ranges[0].count),
          parameters.subspan(ranges[1].offset, ranges[1].count)};
}

Layer LastLayer(const Model& model, std::span<float> parameters) {
  const auto& ranges = model.ranges();
  const ParameterRange& weight = ranges[ranges.size() - 2];
  const ParameterRange& bias = ranges.back();
  return {parameters.subspan(weight.offset, weight.count),
          parameters.subspan(bias.offset, bias.count)};
}

bool Convolves(const Model& model) { return WordOf(model.spec().name) == "cnn"; }

// For a convolution all pixels must have one factor and mean 0, because windows reach over edges.
Status CheckUniform(const Model& model, const Scaling& scaling) {
  if (!Convolves(model)) return Status::Ok();
  const auto same = [&](double factor) { return factor == scaling.factor.front(); };
  const bool centred =
      std::all_of(scaling.mean.begin(), scaling.mean.end(), [](double mean) { return mean == 0; });
  if (centred && scaling.factor.front() > 0 &&
      std::all_of(scaling.factor.begin(), scaling.factor.end(), same)) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format(
      "{} was trained on pixels that were standardised one by one, and convolutions over "
      "raw pixels cannot do that. Train it with `scale` largest or none",
      model.spec().name));
}

void MultiplyAll(std::span<float> values, double factor) {
  for (float& value : values) value = static_cast<float>(value * factor);
}

}  // namespace

Status CheckFoldable(const SavedModel& about) {
  MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(about.spec));
  MOTLEY_ASSIGN_OR_RETURN(const Scaling scaling, ScalingOf(about));
  return CheckUniform(*model, scaling);
}

Status FoldScaling(const SavedModel& about, std::span<float> parameters) {
  MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(about.spec));
  MOTLEY_ASSIGN_OR_RETURN(const Scaling scaling, ScalingOf(about));
  MOTLEY_RETURN_IF_ERROR(CheckUniform(*model, scaling));
  const Layer first = FirstLayer(*model, parameters);
  if (Convolves(*model)) {
    MultiplyAll(first.weight, scaling.factor.front());
  } else {
    const size_t outputs = first.bias.size();
    std::vector<double> bias(first.bias.begin(), first.bias.end());
    for (size_t in = 0; in < scaling.factor.size(); ++in) {
      for (size_t out = 0; out < outputs; ++out) {
        float& weight = first.weight[in * outputs + out];
        const double raw = weight * scaling.factor[in];
        bias[out] -= raw * scaling.mean[in];
        weight = static_cast<float>(raw);
      }
    }
    std::transform(bias.begin(), bias.end(), first.bias.begin(),
                   [](double value) { return static_cast<float>(value); });
  }
  const Layer last = LastLayer(*model, parameters);
  MultiplyAll(last.weight, scaling.target_factor);
  for (float& bias : last.bias) {
    bias = static_cast<float>(bias * scaling.target_factor + scaling.target_mean);
  }
  return Status::Ok();
}

Status UnfoldScaling(const SavedModel& about, std::span<float> parameters) {
  MOTLEY_ASSIGN_OR_RETURN(const auto model, Model::Create(about.spec));
  MOTLEY_ASSIGN_OR_RETURN(const Scaling scaling, ScalingOf(about));
  MOTLEY_RETURN_IF_ERROR(CheckUniform(*model, scaling));
  const Layer last = LastLayer(*model, parameters);
  MultiplyAll(last.weight, 1 / scaling.target_factor);
  for (float& bias : last.bias) {
    bias = static_cast<float>((bias - scaling.target_mean) / scaling.target_factor);
  }
  const Layer first = FirstLayer(*model, parameters);
  if (Convolves(*model)) {
    MultiplyAll(first.weight, 1 / scaling.factor.front());
    return Status::Ok();
  }
  const size_t outputs = first.bias.size();
  std::vector<double> bias(first.bias.begin(), first.bias.end());
  for (size_t in = 0; in < scaling.factor.size(); ++in) {
    const double factor = scaling.factor[in];
    for (size_t out = 0; out < outputs; ++out) {
      float& weight = first.weight[in * outputs + out];
      bias[out] += weight * scaling.mean[in];
      weight = factor > 0 ? static_cast<float>(weight / factor) : 0;
    }
  }
  std::transform(bias.begin(), bias.end(), first.bias.begin(),
                 [](double value) { return static_cast<float>(value); });
  return Status::Ok();
}

}  // namespace motley
