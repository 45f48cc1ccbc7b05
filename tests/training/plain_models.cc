// SPDX-License-Identifier: Apache-2.0
#include "tests/training/plain_models.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/training/tape.h"

namespace motley::reference {
namespace {

// Hands out a model's parameters in order.
template <typename T>
struct Parameters {
  std::span<const T> all;
  size_t next = 0;

  std::span<const T> Take(size_t count) {
    next += count;
    return all.subspan(next - count, count);
  }
};

template <typename T>
std::vector<T> Dense(const std::vector<T>& x, size_t outputs, bool norm, Parameters<T>& w) {
  const auto weight = w.Take(x.size() * outputs), bias = w.Take(outputs);
  std::vector<T> out(bias.begin(), bias.end());
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t o = 0; o < outputs; ++o) out[o] = out[o] + x[i] * weight[i * outputs + o];
  }
  if (!norm) return out;
  const T count = static_cast<double>(outputs);
  T mean = 0.0, variance = 0.0;
  for (const T& value : out) mean = mean + value / count;
  for (const T& value : out) variance = variance + (value - mean) * (value - mean) / count;
  const auto gain = w.Take(outputs), shift = w.Take(outputs);
  for (size_t o = 0; o < outputs; ++o) {
    out[o] = gain[o] * ((out[o] - mean) / Sqrt(variance + T(double{1e-5f}))) + shift[o];
  }
  return out;
}

template <typename T>
struct Picture {
  size_t height, width, channels;
  std::vector<T> values;
  T At(size_t y, size_t x, size_t c) const { return values[(y * width + x) * channels + c]; }
};

// A 3 x 3 window with a margin of zeros, ReLU, then the largest of each 2 x 2.
template <typename T>
Picture<T> ConvolveAndPool(const Picture<T>& in, size_t channels, Parameters<T>& w) {
  const auto weight = w.Take(9 * in.channels * channels), bias = w.Take(channels);
  Picture<T> full{in.height, in.width, channels, {}};
  for (size_t y = 0; y < in.height; ++y) {
    for (size_t x = 0; x < in.width; ++x) {
      for (size_t o = 0; o < channels; ++o) {
        T sum = bias[o];
        for (size_t k = 0; k < 9 * in.channels; ++k) {
          const size_t fy = y + k / in.channels / 3, fx = x + k / in.channels % 3;
          if (fy < 1 || fx < 1 || fy > in.height || fx > in.width) continue;
          sum = sum + weight[k * channels + o] * in.At(fy - 1, fx - 1, k % in.channels);
        }
        full.values.push_back(Larger(T(0.0), sum));
      }
    }
  }
  Picture<T> out{in.height / 2, in.width / 2, channels, {}};
  for (size_t y = 0; y < out.height; ++y) {
    for (size_t x = 0; x < out.width; ++x) {
      for (size_t o = 0; o < channels; ++o) {
        const T top = Larger(full.At(2 * y, 2 * x, o), full.At(2 * y, 2 * x + 1, o));
        const T low = Larger(full.At(2 * y + 1, 2 * x, o), full.At(2 * y + 1, 2 * x + 1, o));
        out.values.push_back(Larger(top, low));
      }
    }
  }
  return out;
}

std::vector<std::string> Words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
  return words;
}

template <typename T>
std::vector<T> DenseLayers(std::vector<T> x, const std::string& words, size_t classes,
                           Parameters<T>& w) {
  const std::vector<std::string> layers = Words(words, ',');
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] == "norm") continue;
    const bool norm = i + 1 < layers.size() && layers[i + 1] == "norm";
    x = Dense(x, std::stoul(layers[i]), norm, w);
    for (T& value : x) value = Larger(T(0.0), value);
  }
  // One real number if there are no classes.
  return Dense(x, std::max<size_t>(classes, 1), false, w);
}

template <typename T>
std::vector<T> Cnn(const ModelSpec& spec, std::vector<T> x, Parameters<T>& w) {
  const std::vector<std::string> halves = Words(spec.name, ':');
  Picture<T> picture{0, 0, 1, std::move(x)};
  if (const size_t at = halves[0].find('@'); at != std::string::npos) {
    const std::vector<std::string> sizes = Words(halves[0].substr(at + 1), 'x');
    picture.height = std::stoul(sizes[0]);
    picture.width = std::stoul(sizes[1]);
    picture.channels = std::stoul(sizes[2]);
  } else {
    while (picture.height * picture.height < spec.features) ++picture.height;
    if (picture.height * picture.height != spec.features) {
      picture.channels = 3;
      picture.height = 0;
      while (3 * picture.height * picture.height < spec.features) ++picture.height;
    }
    picture.width = picture.height;
  }
  const std::vector<std::string> parts = Words(halves[1], '/');
  for (const std::string& channels : Words(parts[0], ',')) {
    picture = ConvolveAndPool(picture, std::stoul(channels), w);
  }
  return DenseLayers(picture.values, parts.size() > 1 ? parts[1] : "", spec.classes, w);
}

// Sums over all pairs, as in the model's definition.
template <typename T>
std::vector<T> Factorization(const ModelSpec& spec, const std::vector<T>& x, Parameters<T>& w) {
  const size_t factors = std::stoul(spec.name.substr(spec.name.find(':') + 1));
  std::vector<T> out = Dense(x, 1, false, w);
  const auto factor = w.Take(x.size() * factors);
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = i + 1; j < x.size(); ++j) {
      if (ValueOf(x[i]) == 0 || ValueOf(x[j]) == 0) continue;
      T product = 0.0;
      for (size_t f = 0; f < factors; ++f) {
        product = product + factor[i * factors + f] * factor[j * factors + f];
      }
      out[0] = out[0] + product * x[i] * x[j];
    }
  }
  return out;
}

template <typename T>
T LossOf(const ModelSpec& spec, double label, const std::vector<T>& out) {
  if (spec.classes == 0) return (out[0] - T(label)) * (out[0] - T(label)) * T(0.5);
  const T y = label > 0.5 ? 1.0 : -1.0;
  if (spec.name == "hinge") return Larger(T(0.0), T(1.0) - y * out[0]);
  if (out.size() == 1) return Log(T(1.0) + Exp(T(0.0) - y * out[0]));
  T sum = 0.0;
  for (const T& score : out) sum = sum + Exp(score);
  return Log(sum) - out[static_cast<size_t>(label)];
}

template <typename T>
T Loss(const ModelSpec& spec, std::span<const T> w, std::span<const double> x, double label) {
  Parameters<T> parameters{w};
  std::vector<T> values(x.begin(), x.end());
  if (spec.name.starts_with("cnn")) return LossOf(spec, label, Cnn(spec, values, parameters));
  if (spec.name.starts_with("factorization")) {
    return LossOf(spec, label, Factorization(spec, values, parameters));
  }
  if (spec.name == "hinge") return LossOf(spec, label, Dense(values, 1, false, parameters));
  return LossOf(spec, label, DenseLayers(values, spec.name.substr(4), spec.classes, parameters));
}

}  // namespace

bool IsPlainModel(const ModelSpec& spec) {
  return spec.name.starts_with("cnn") || spec.name.starts_with("factorization") ||
         spec.name == "hinge" || spec.name.find("norm") != std::string::npos;
}

double PlainLoss(const ModelSpec& spec, std::span<const double> w, std::span<const double> x,
                 double label, std::span<double> gradient) {
  if (gradient.empty()) return Loss<double>(spec, w, x, label);
  Tape tape;
  std::vector<Traced> parameters;
  for (const double value : w) parameters.emplace_back(tape, value);
  const Traced loss = Loss<Traced>(spec, parameters, x, label);
  const std::vector<double> slopes = tape.Slopes(loss.number);
  for (size_t i = 0; i < w.size(); ++i) gradient[i] += loss.tape == nullptr ? 0 : slopes[i];
  return loss.value;
}

}  // namespace motley::reference
