// SPDX-License-Identifier: Apache-2.0
#include "training/model_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "training/element_type.h"
#include "training/text_scan.h"

namespace motley {
namespace {

constexpr std::string_view kWeight = "weight";
constexpr const char* kUnderstood =
    "imported are fully connected layers, each NAME.weight [outputs, inputs] and NAME.bias "
    "[outputs], in the order of the numbers in their names";

struct ForeignLayer {
  std::string prefix;  // "0."
  const TensorInfo* weight = nullptr;
  const TensorInfo* bias = nullptr;
};

Status Refuse(const std::string& what) {
  return Status::DataError(fmt::format("{}; {}", what, kUnderstood));
}

// The name cut into text and numbers, so that "fc10" comes behind "fc2".
std::vector<std::pair<uint64_t, std::string>> OrderOf(const std::string& name) {
  std::vector<std::pair<uint64_t, std::string>> order;
  for (size_t at = 0; at < name.size();) {
    uint64_t number = 0;
    const char* begin = name.data() + at;
    const auto [stop, error] = std::from_chars(begin, name.data() + name.size(), number);
    const auto digits = static_cast<size_t>(stop - begin);
    order.emplace_back(error == std::errc() ? number : 0,
                       error == std::errc() ? "" : name.substr(at, 1));
    at += std::max<size_t>(digits, 1);
  }
  return order;
}

Result<std::vector<ForeignLayer>> FindLayers(const SafetensorsHeader& header) {
  std::vector<ForeignLayer> layers;
  for (const auto& [name, tensor] : header.tensors) {
    if (!name.ends_with(kWeight)) continue;
    ForeignLayer layer{.prefix = name.substr(0, name.size() - kWeight.size()), .weight = &tensor};
    const auto bias = header.tensors.find(layer.prefix + "bias");
    if (bias == header.tensors.end()) return Refuse(fmt::format("{} has no bias", Quoted(name)));
    layer.bias = &bias->second;
    if (tensor.shape.size() != 2) {
      return Refuse(fmt::format("{} has shape ({})", Quoted(name), fmt::join(tensor.shape, ", ")));
    }
    if (layer.bias->shape != std::vector<uint64_t>{tensor.shape[0]}) {
      return Refuse(fmt::format("{} and its bias do not fit together", Quoted(name)));
    }
    layers.push_back(std::move(layer));
  }
  if (layers.empty() || header.tensors.size() != 2 * layers.size()) {
    return Refuse(
        fmt::format("{} tensors, of which {} are weights", header.tensors.size(), layers.size()));
  }
  std::sort(layers.begin(), layers.end(), [](const ForeignLayer& a, const ForeignLayer& b) {
    return OrderOf(a.prefix) < OrderOf(b.prefix);
  });
  for (size_t i = 1; i < layers.size(); ++i) {
    if (layers[i].weight->shape[1] == layers[i - 1].weight->shape[0]) continue;
    return Refuse(fmt::format("'{}' takes {} values but '{}' before it makes {}",
                              layers[i].prefix + "weight", layers[i].weight->shape[1],
                              layers[i - 1].prefix + "weight", layers[i - 1].weight->shape[0]));
  }
  return layers;
}

Result<ModelSpec> SpecOf(const std::vector<ForeignLayer>& layers) {
  constexpr uint64_t kMost = 1u << 30;
  std::vector<uint64_t> hidden;
  for (const ForeignLayer& layer : layers) hidden.push_back(layer.weight->shape[0]);
  const uint64_t features = layers.front().weight->shape[1];
  const uint64_t classes = hidden.back();
  hidden.pop_back();
  if (classes < 2 || classes > kMost || features > kMost) {
    return Refuse(fmt::format("{} features and {} outputs make no classifier", features, classes));
  }
  return ModelSpec{
      .name = hidden.empty() ? "softmax" : fmt::format("mlp:{}", fmt::join(hidden, ",")),
      .features = static_cast<uint32_t>(features),
      .classes = static_cast<uint32_t>(classes)};
}

Result<std::vector<float>> Values(const TensorInfo& tensor, const std::string& name,
                                  std::string_view data) {
  using Kind = ElementType::Kind;
  ElementType type;
  if (tensor.dtype == "F64") type.size_bytes = 8;
  if (tensor.dtype == "F16" || tensor.dtype == "BF16") type.size_bytes = 2;
  if (tensor.dtype == "BF16") type.kind = Kind::kBfloat;
  if (!tensor.dtype.ends_with(std::to_string(8 * type.size_bytes)) ||
      tensor.dtype.find('F') == std::string::npos) {
    return Status::DataError(
        fmt::format("'{}' is {}; F32, F64, F16 and BF16 can be imported", name, tensor.dtype));
  }
  const std::string_view bytes = data.substr(tensor.begin, tensor.end - tensor.begin);
  std::vector<float> values(bytes.size() / type.size_bytes);
  if (const auto bad = DecodeElements(type, bytes, std::span<float>(values))) {
    return Status::DataError(fmt::format("'{}', value {}: {}", name, bad->index, bad->why));
  }
  return values;
}

}  // namespace

bool IsForeignModel(const SafetensorsHeader& header) {
  if (header.tensors.empty() || header.metadata.count("model") != 0) return false;
  const auto format = header.metadata.find("format");
  if (format != header.metadata.end()) return format->second == "pt";
  // A layer that we name so, and that lost its metadata, has its weights the other way round.
  return header.tensors.count("layer0.weight") == 0;
}

Result<SavedModel> ImportModel(const SafetensorsHeader& header, std::string_view data) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<ForeignLayer> layers, FindLayers(header));
  SavedModel saved;
  MOTLEY_ASSIGN_OR_RETURN(saved.spec, SpecOf(layers));
  const auto model = Model::Create(saved.spec);
  if (!model.ok()) return Status::DataError("is no usable model: " + model.status().ToString());
  saved.class_labels.resize(saved.spec.classes);
  std::iota(saved.class_labels.begin(), saved.class_labels.end(), 0.0);
  for (const ForeignLayer& layer : layers) {
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<float> weight,
                            Values(*layer.weight, layer.prefix + "weight", data));
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<float> bias,
                            Values(*layer.bias, layer.prefix + "bias", data));
    const uint64_t outputs = layer.weight->shape[0];
    const uint64_t inputs = layer.weight->shape[1];
    for (uint64_t in = 0; in < inputs; ++in) {
      for (uint64_t out = 0; out < outputs; ++out) {
        saved.parameters.push_back(weight[out * inputs + in]);
      }
    }
    saved.parameters.insert(saved.parameters.end(), bias.begin(), bias.end());
  }
  MOTLEY_ASSERT(saved.parameters.size() == (*model)->parameter_count());
  return saved;
}

}  // namespace motley
