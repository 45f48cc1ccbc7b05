// SPDX-License-Identifier: Apache-2.0
#include "training/model_files/model_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "data/files/text_scan.h"
#include "data/formats/element_type.h"
#include "training/model_files/torch_tensors.h"
#include "training/models/architecture.h"

namespace motley {
namespace {

constexpr std::string_view kWeight = "weight";
constexpr const char* kUnderstood =
    "imported are layers NAME.weight and NAME.bias, in the order of the numbers in their names: "
    "convolutions [outputs, inputs, 3, 3], then fully connected ones [outputs, inputs], and "
    "normalisations [outputs] after these";
constexpr uint64_t kMostSize = 1u << 30;
constexpr uint64_t kKernel = 3;

struct ForeignLayer {
  std::string prefix;  // "0."
  const TensorInfo* weight = nullptr;
  const TensorInfo* bias = nullptr;

  size_t dimensions() const { return weight->shape.size(); }
  std::string name() const { return prefix + "weight"; }
};

Status Refuse(const std::string& what) {
  return Status::DataError(fmt::format("{}; {}", what, kUnderstood));
}

// Splits a name into text and numbers, so that "fc10" sorts after "fc2".
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

std::vector<uint64_t> NumbersIn(const std::string& name) {
  std::vector<uint64_t> numbers;
  for (const auto& [number, text] : OrderOf(name)) {
    if (text.empty()) numbers.push_back(number);
  }
  return numbers;
}

// The layers in order, convolutions first.
Result<std::vector<ForeignLayer>> FindLayers(const SafetensorsHeader& header) {
  std::vector<ForeignLayer> layers;
  for (const auto& [name, tensor] : header.tensors) {
    if (!name.ends_with(kWeight)) continue;
    ForeignLayer layer{.prefix = name.substr(0, name.size() - kWeight.size()), .weight = &tensor};
    const auto bias = header.tensors.find(layer.prefix + "bias");
    if (bias == header.tensors.end()) return Refuse(fmt::format("{} has no bias", Quoted(name)));
    layer.bias = &bias->second;
    const size_t dimensions = layer.dimensions();
    if (dimensions != 1 && dimensions != 2 && dimensions != 4) {
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
    const bool convolves = a.dimensions() == 4;
    if (convolves != (b.dimensions() == 4)) return convolves;
    return OrderOf(a.prefix) < OrderOf(b.prefix);
  });
  return layers;
}

// Checks that each layer takes what the one before it produces. No tensor tells the size of the
// image between convolutions and dense layers.
Status CheckChain(const std::vector<ForeignLayer>& layers) {
  const ForeignLayer* before = nullptr;
  for (const ForeignLayer& layer : layers) {
    const size_t dimensions = layer.dimensions();
    const std::vector<uint64_t>& shape = layer.weight->shape;
    if (dimensions == 1) {
      if (before != nullptr && before->dimensions() == 2 && before->weight->shape[0] == shape[0]) {
        // Names like fc1, fc2 and norm1 sort in another order than the layers.
        if (NumbersIn(layer.prefix) >= NumbersIn(before->prefix)) continue;
        return Refuse(fmt::format(
            "'{}' has a smaller number than '{}', so its place among the layers is unclear. "
            "Rename the tensors",
            layer.name(), before->name()));
      }
      return Refuse(
          fmt::format("'{}' is ({}), and no fully connected layer with that many outputs is "
                      "before it",
                      layer.name(), shape[0]));
    }
    if (dimensions == 4 && (shape[2] != kKernel || shape[3] != kKernel)) {
      return Refuse(fmt::format("'{}' is ({})", layer.name(), fmt::join(shape, ", ")));
    }
    const bool flattened = before != nullptr && before->dimensions() != dimensions;
    if (before != nullptr && !flattened && shape[1] != before->weight->shape[0]) {
      return Refuse(fmt::format("'{}' takes {} values but '{}' before it makes {}", layer.name(),
                                shape[1], before->name(), before->weight->shape[0]));
    }
    before = &layer;
  }
  return Status::Ok();
}

// A name like "mlp:64,norm,32", "cnn:16,32/64" or "softmax"; empty for one layer of one output.
std::string NameOf(const std::vector<ForeignLayer>& layers) {
  std::vector<std::string> convolutions, dense;
  for (const ForeignLayer& layer : layers) {
    const size_t dimensions = layer.dimensions();
    const std::string outputs = std::to_string(layer.weight->shape[0]);
    (dimensions == 4 ? convolutions : dense).push_back(dimensions == 1 ? "norm" : outputs);
  }
  if (!dense.empty()) dense.pop_back();
  const std::string hidden = fmt::format("{}", fmt::join(dense, ","));
  if (!convolutions.empty()) {
    return fmt::format("cnn:{}{}{}", fmt::join(convolutions, ","), hidden.empty() ? "" : "/",
                       hidden);
  }
  if (!hidden.empty()) return "mlp:" + hidden;
  return layers.back().weight->shape[0] > 1 ? "softmax" : "";
}

Result<ModelSpec> SpecOf(const std::vector<ForeignLayer>& layers) {
  if (layers.front().dimensions() == 4) {
    return Refuse(
        "it has convolutions, but the file lacks the size of its images. `motley train "
        "--init` can use it with its data");
  }
  if (layers.front().dimensions() != 2 || layers.back().dimensions() != 2) {
    return Refuse("its first and its last layer are not fully connected");
  }
  const uint64_t features = layers.front().weight->shape[1];
  const uint64_t classes = layers.back().weight->shape[0];
  if (classes < 2 || classes > kMostSize || features > kMostSize) {
    return Refuse(
        fmt::format("{} features and {} outputs are not a classifier", features, classes));
  }
  return ModelSpec{.name = NameOf(layers),
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
  // A layer with our name comes from our file without its metadata; its weights are transposed.
  return header.tensors.count("layer0.weight") == 0;
}

Result<TorchShape> ShapeOf(const SafetensorsHeader& header) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<ForeignLayer> layers, FindLayers(header));
  MOTLEY_RETURN_IF_ERROR(CheckChain(layers));
  return TorchShape{.name = NameOf(layers), .outputs = layers.back().weight->shape[0]};
}

Result<std::vector<float>> ImportParameters(const SafetensorsHeader& header, std::string_view data,
                                            const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<ForeignLayer> layers, FindLayers(header));
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<TorchTensor> wanted, TorchTensors(spec));
  const std::string model = DescribeSpec(spec);
  std::vector<float> parameters(wanted.back().offset + wanted.back().count());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i / 2 == layers.size()) {
      return Status::DataError(
          fmt::format("has {}, and none in the place of '{}' ({}), which {} "
                      "needs",
                      Counted(layers.size(), "layer"), wanted[i].name,
                      fmt::join(wanted[i].shape, ", "), model));
    }
    const ForeignLayer& layer = layers[i / 2];
    const bool bias = i % 2 == 1;
    const TensorInfo& tensor = bias ? *layer.bias : *layer.weight;
    const std::string name = layer.prefix + (bias ? "bias" : "weight");
    if (tensor.shape != wanted[i].shape) {
      return Status::DataError(fmt::format("'{}' is ({}), and {} needs ({})", name,
                                           fmt::join(tensor.shape, ", "), model,
                                           fmt::join(wanted[i].shape, ", ")));
    }
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<float> values, Values(tensor, name, data));
    FromTorch(wanted[i], values, parameters);
  }
  if (2 * layers.size() > wanted.size()) {
    return Status::DataError(fmt::format("has '{}', and {} has only {}",
                                         layers[wanted.size() / 2].name(), model,
                                         Counted(wanted.size() / 2, "layer")));
  }
  return parameters;
}

Result<SavedModel> ImportModel(const SafetensorsHeader& header, std::string_view data) {
  MOTLEY_ASSIGN_OR_RETURN(const std::vector<ForeignLayer> layers, FindLayers(header));
  MOTLEY_RETURN_IF_ERROR(CheckChain(layers));
  SavedModel saved;
  MOTLEY_ASSIGN_OR_RETURN(saved.spec, SpecOf(layers));
  const auto model = Model::Create(saved.spec);
  if (!model.ok()) return Status::DataError("is not a usable model: " + model.status().ToString());
  saved.class_labels.resize(saved.spec.classes);
  std::iota(saved.class_labels.begin(), saved.class_labels.end(), 0.0);
  MOTLEY_ASSIGN_OR_RETURN(saved.parameters, ImportParameters(header, data, saved.spec));
  return saved;
}

}  // namespace motley
