// SPDX-License-Identifier: Apache-2.0
#include "tests/training/reference.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/random.h"
#include "base/unit_masks.h"
#include "tests/training/plain_models.h"

namespace motley::reference {
namespace {

using Vector = std::vector<double>;

Vector Features(const Dataset& data, size_t row) {
  Vector x(data.features, 0.0);
  if (data.sparse) {
    for (uint64_t e = data.row_begin[row]; e < data.row_begin[row + 1]; ++e) {
      x[data.column[e]] = data.value[e];
    }
  } else {
    for (size_t c = 0; c < x.size(); ++c) x[c] = data.dense[row * data.features + c];
  }
  return x;
}

// The loss of one sample; `out` is replaced by its derivative.
double Loss(const ModelSpec& spec, double label, Vector& out) {
  if (spec.name == "linear") {
    out[0] -= label;
    return out[0] * out[0] / 2;
  }
  if (spec.name == "logistic") {
    const double y = label > 0.5 ? 1 : -1;
    const double loss = std::log(1 + std::exp(-y * out[0]));
    out[0] = -y / (1 + std::exp(y * out[0]));
    return loss;
  }
  double sum = 0;
  for (const double score : out) sum += std::exp(score);
  const auto wanted = static_cast<size_t>(label);
  const double loss = std::log(sum) - out[wanted];
  for (double& score : out) score = std::exp(score) / sum;
  out[wanted] -= 1;
  return loss;
}

double PlainSample(const ModelSpec& spec, std::span<const double> w, const Vector& x, double label,
                   std::span<double> gradient, const Origin& origin) {
  if (IsPlainModel(spec)) return PlainLoss(spec, w, x, label, gradient);
  const std::vector<size_t> widths = Widths(spec);
  std::vector<Vector> values = {x}, masks = {Vector(x.size(), 1.0)};
  std::vector<size_t> offsets;
  size_t offset = 0;
  for (size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const size_t in = widths[layer];
    const size_t out = widths[layer + 1];
    Vector next(out);
    for (size_t o = 0; o < out; ++o) {
      next[o] = w[offset + in * out + o];
      for (size_t i = 0; i < in; ++i) next[o] += values[layer][i] * w[offset + i * out + o];
      if (layer + 2 < widths.size()) next[o] = std::max(next[o], 0.0);
    }
    masks.push_back(layer + 2 < widths.size() ? MaskOf(spec, origin, layer, out) : Vector());
    for (size_t o = 0; o < masks.back().size(); ++o) next[o] *= masks.back()[o];
    values.push_back(next);
    offsets.push_back(offset);
    offset += (in + 1) * out;
  }
  const double loss = Loss(spec, label, values.back());
  if (gradient.empty()) return loss;
  Vector delta = values.back();
  for (size_t layer = offsets.size(); layer-- > 0;) {
    const size_t in = widths[layer];
    const size_t out = widths[layer + 1];
    Vector below(in, 0.0);
    for (size_t o = 0; o < out; ++o) {
      gradient[offsets[layer] + in * out + o] += delta[o];
      for (size_t i = 0; i < in; ++i) {
        const size_t at = offsets[layer] + i * out + o;
        gradient[at] += values[layer][i] * delta[o];
        if (layer == 0 || values[layer][i] > 0) {
          below[i] += w[at] * delta[o] * masks[layer][i];
        }
      }
    }
    delta = below;
  }
  return loss;
}

double Sample(const ModelSpec& spec, std::span<const double> w, const Vector& x, double label,
              std::span<double> gradient, const Origin& origin) {
  Vector own(gradient.size(), 0.0);
  const double weight = WeightOfSample(spec, label);
  const double loss = weight * PlainSample(spec, w, x, label, own, origin);
  for (size_t i = 0; i < own.size(); ++i) gradient[i] += weight * own[i];
  return loss;
}

}  // namespace

double WeightOfSample(const ModelSpec& spec, double label) {
  return spec.class_weights.empty() ? 1 : spec.class_weights[static_cast<size_t>(label)];
}

std::vector<double> MaskOf(const ModelSpec& spec, const Origin& origin, size_t layer,
                           size_t units) {
  Vector mask(units, 1.0);
  if (spec.dropout == 0) return mask;
  const uint64_t key = Random(origin.seed, Stream::kDropout, origin.step, layer).Next64();
  for (size_t unit = 0; unit < units; ++unit) {
    const MaskWords words = MaskWordsOf(key, origin.sample, static_cast<uint32_t>(unit / 4));
    mask[unit] = words.word[unit % 4] * 0x1p-32 < spec.dropout ? 0 : 1 / (1 - spec.dropout);
  }
  return mask;
}

std::vector<size_t> Widths(const ModelSpec& spec) {
  std::vector<size_t> widths = {spec.features};
  if (spec.name.starts_with("mlp:")) {
    std::istringstream text(spec.name.substr(4));
    for (std::string width; std::getline(text, width, ',');) {
      size_t value = 0;
      for (const char digit : width) value = 10 * value + static_cast<size_t>(digit - '0');
      widths.push_back(value);
    }
  }
  const bool single = spec.name == "linear" || spec.name == "logistic";
  widths.push_back(single ? 1 : spec.classes);
  return widths;
}

double LossAndGradient(const ModelSpec& spec, std::span<const double> parameters,
                       const Dataset& data, std::span<double> gradient) {
  double loss = 0;
  for (size_t row = 0; row < data.rows(); ++row) {
    const Origin origin{0, 0, static_cast<uint32_t>(row)};
    loss += Sample(spec, parameters, Features(data, row), data.label[row], gradient, origin);
  }
  return loss;
}

void Update(const OptimizerOptions& options, double t, const Vector& g, Vector& first,
            Vector& second, Vector& w) {
  for (size_t i = 0; i < w.size(); ++i) {
    double step = g[i];
    if (options.name == "momentum" || options.name == "nag") {
      first[i] = options.momentum * first[i] + g[i];
      step = options.name == "nag" ? g[i] + options.momentum * first[i] : first[i];
    } else if (options.name == "adam" || options.name == "adamw") {
      first[i] = options.beta1 * first[i] + (1 - options.beta1) * g[i];
      second[i] = options.beta2 * second[i] + (1 - options.beta2) * g[i] * g[i];
      const double mean = first[i] / (1 - std::pow(options.beta1, t));
      const double square = second[i] / (1 - std::pow(options.beta2, t));
      step = mean / (std::sqrt(square) + options.epsilon);
      if (options.name == "adamw") w[i] -= options.learning_rate * options.weight_decay * w[i];
    } else if (options.name != "sgd") {
      ADD_FAILURE() << "the reference knows no optimizer " << options.name;
    }
    w[i] -= options.learning_rate * step;
  }
}

std::vector<double> Train(const ModelSpec& spec, const OptimizerOptions& options,
                          const BatchSchedule& schedule, const Dataset& data, size_t steps,
                          std::vector<double> parameters) {
  Vector first(parameters.size(), 0.0);
  Vector second(parameters.size(), 0.0);
  for (size_t step = 0; step < steps; ++step) {
    Vector gradient(parameters.size(), 0.0);
    double weight = 0;
    for (const uint32_t row : schedule.Rows(step)) {
      const Origin origin{schedule.seed(), step, row};
      Sample(spec, parameters, Features(data, row), data.label[row], gradient, origin);
      weight += WeightOfSample(spec, data.label[row]);
    }
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = gradient[i] / weight + options.l2 * parameters[i];
    }
    Update(options, static_cast<double>(step + 1), gradient, first, second, parameters);
  }
  return parameters;
}

}  // namespace motley::reference
