// SPDX-License-Identifier: Apache-2.0
#include "training/models/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/suggest.h"
#include "training/models/layer_words.h"

namespace motley {
namespace {

constexpr uint32_t kKernel = 3;   // Convolutions keep the size of their inputs.
constexpr uint32_t kPooling = 2;  // Follows each convolution.

Status NeedsClasses(const ModelSpec& spec, uint32_t least, uint32_t most) {
  if (spec.classes == 0) {
    return Status::InvalidArgument(fmt::format(
        "{} is a classifier, but the labels are read as real numbers; linear and mlp:64 "
        "fit them",
        spec.name));
  }
  if (spec.classes < least || spec.classes > most) {
    return Status::InvalidArgument(
        fmt::format("{} needs {} classes, but the data has {}{}", spec.name,
                    least == most ? fmt::format("{}", least) : fmt::format("at least {}", least),
                    spec.classes, spec.classes > most ? "; softmax takes any number" : ""));
  }
  return Status::Ok();
}

// Networks have one output for real numbers, else one per class.
Status NeedsClassesOrNumbers(const ModelSpec& spec) {
  return spec.classes == 0 ? Status::Ok() : NeedsClasses(spec, 2, UINT32_MAX);
}

Architecture NetworkFor(const ModelSpec& spec) {
  if (spec.classes == 0) return {.outputs = 1, .loss = Loss::kSquared};
  return {.outputs = spec.classes, .loss = Loss::kSoftmax};
}

Status TooLarge(const ModelSpec& spec) {
  return Status::InvalidArgument(
      fmt::format("{} on {} features and {} classes has more than {} parameters", spec.name,
                  spec.features, spec.classes, kMaxParameters));
}

Status CheckSize(const ModelSpec& spec, const Architecture& plan) {
  uint64_t total = 0;
  const auto add = [&total](uint64_t rows, uint64_t columns) {
    const bool fits = rows <= kMaxParameters / columns;
    if (fits) total += rows * columns;
    return fits && total <= kMaxParameters;
  };
  if (plan.factors > 0 && !add(uint64_t{spec.features} + 1, uint64_t{plan.factors} + 1)) {
    return TooLarge(spec);
  }
  for (const LayerPlan& layer : plan.layers) {
    const motley_window& window = layer.window;
    const bool fits =
        layer.kind == LayerPlan::Kind::kConvolution
            ? add(uint64_t{window.kernel_height} * window.kernel_width * window.channels + 1,
                  layer.channels)
            : add(uint64_t{layer.inputs} + (layer.norm ? 3 : 1), layer.outputs);
    if (!fits) return TooLarge(spec);
  }
  return Status::Ok();
}

// The size of images.
struct Image {
  uint32_t height = 0, width = 0, channels = 0;
};

// The side of a square image of `values` pixels.
uint32_t SideOf(uint32_t values) {
  const auto side = static_cast<uint32_t>(std::lround(std::sqrt(static_cast<double>(values))));
  return uint64_t{side} * side == values ? side : 0;
}

Result<Image> ImageOf(const ModelSpec& spec, const CnnWords& words) {
  if (words.height > 0) {
    const uint64_t values = uint64_t{words.height} * words.width * words.channels;  // Below 2^61.
    if (values == spec.features) return Image{words.height, words.width, words.channels};
    return Status::InvalidArgument(
        fmt::format("{} takes images of {} values, but the data has {} features", spec.name, values,
                    spec.features));
  }
  if (const uint32_t side = SideOf(spec.features); side > 0) return Image{side, side, 1};
  const uint32_t side = spec.features % 3 == 0 ? SideOf(spec.features / 3) : 0;
  if (side > 0) return Image{side, side, 3};
  return Status::InvalidArgument(
      fmt::format("{}: {} features are not a square image of 1 or 3 channels; give height x width "
                  "x channels, as "
                  "in cnn@28x28x1:16,32",
                  spec.name, spec.features));
}

Result<LayerPlan> PlanConvolution(const ModelSpec& spec, Image& image, uint32_t channels) {
  if (image.height < kPooling || image.width < kPooling) {
    return Status::InvalidArgument(
        fmt::format("{}: each convolution halves the image, and nothing is left for the last "
                    "one; use fewer",
                    spec.name));
  }
  LayerPlan layer{.kind = LayerPlan::Kind::kConvolution, .channels = channels};
  const Image half{image.height / kPooling, image.width / kPooling, channels};
  const uint64_t pixels = uint64_t{image.height} * image.width;
  const uint64_t patches = uint64_t{kKernel} * kKernel * image.channels;
  if (pixels > kMaxValues / std::max<uint64_t>(channels, patches)) {
    return Status::InvalidArgument(
        fmt::format("{}: a layer makes more than {} values of one sample", spec.name, kMaxValues));
  }
  layer.inputs = static_cast<uint32_t>(pixels * image.channels);
  layer.outputs = half.height * half.width * channels;
  layer.window = {image.height, image.width,  image.channels, kKernel, kKernel, 1,
                  kKernel / 2,  image.height, image.width};
  layer.pooling = {image.height, image.width, channels,    kPooling,  kPooling,
                   kPooling,     0,           half.height, half.width};
  image = half;
  return layer;
}

// Appends dense layers from `inputs` values to the outputs.
void AddDense(uint32_t inputs, const std::vector<LayerWord>& words, Architecture& plan) {
  for (const LayerWord& word : words) {
    plan.layers.push_back({.inputs = inputs, .outputs = word.width, .norm = word.norm});
    inputs = word.width;
  }
  plan.layers.push_back({.inputs = inputs, .outputs = plan.outputs});
}

Result<Architecture> PlanCnn(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const CnnWords words, ParseCnn(spec.name));
  MOTLEY_ASSIGN_OR_RETURN(Image image, ImageOf(spec, words));
  Architecture plan = NetworkFor(spec);
  for (const LayerWord& word : words.convolutions) {
    MOTLEY_ASSIGN_OR_RETURN(LayerPlan layer, PlanConvolution(spec, image, word.width));
    plan.layers.push_back(layer);
  }
  AddDense(plan.layers.back().outputs, words.dense, plan);
  return plan;
}

Result<Architecture> PlanFactorization(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(const uint32_t factors, ParseFactors(spec.name));
  if (spec.classes != 0 && spec.classes != 2) {
    return Status::InvalidArgument(
        fmt::format("{} fits real numbers or 2 classes, but the data has {}; softmax takes any "
                    "number",
                    spec.name, spec.classes));
  }
  return Architecture{.factors = factors,
                      .outputs = 1,
                      .loss = spec.classes == 0 ? Loss::kSquared : Loss::kLogistic};
}

Result<Architecture> PlanSingle(const ModelSpec& spec, uint32_t outputs, Loss loss) {
  Architecture plan{.outputs = outputs, .loss = loss};
  AddDense(spec.features, {}, plan);
  return plan;
}

Result<Architecture> PlanByName(const ModelSpec& spec) {
  constexpr uint32_t kAny = UINT32_MAX;
  if (spec.name == "linear") {
    if (spec.classes == 0) return PlanSingle(spec, 1, Loss::kSquared);
    return Status::InvalidArgument(
        fmt::format("linear predicts real numbers, but the labels are read as {} classes; softmax "
                    "fits them",
                    spec.classes));
  }
  if (spec.name == "logistic" || spec.name == "hinge") {
    MOTLEY_RETURN_IF_ERROR(NeedsClasses(spec, 2, 2));
    return PlanSingle(spec, 1, spec.name == "hinge" ? Loss::kHinge : Loss::kLogistic);
  }
  if (spec.name == "softmax") {
    MOTLEY_RETURN_IF_ERROR(NeedsClasses(spec, 2, kAny));
    return PlanSingle(spec, spec.classes, Loss::kSoftmax);
  }
  if (spec.name.starts_with("mlp:")) {
    MOTLEY_RETURN_IF_ERROR(NeedsClassesOrNumbers(spec));
    MOTLEY_ASSIGN_OR_RETURN(const std::vector<LayerWord> words, ParseMlp(spec.name));
    Architecture plan = NetworkFor(spec);
    AddDense(spec.features, words, plan);
    return plan;
  }
  if (spec.name.starts_with("cnn:") || spec.name.starts_with("cnn@")) {
    MOTLEY_RETURN_IF_ERROR(NeedsClassesOrNumbers(spec));
    return PlanCnn(spec);
  }
  if (spec.name.starts_with("factorization:")) return PlanFactorization(spec);
  for (const char* form : {"mlp:256", "cnn:16,32", "factorization:16"}) {
    if (spec.name != WordOf(form)) continue;
    return Status::InvalidArgument(
        fmt::format("model '{}' needs its sizes, as in {}", spec.name, form));
  }
  return CheckChoice("model", spec.name,
                     {"softmax", "logistic", "hinge", "linear", "mlp:WIDTH,...", "cnn:CHANNELS,...",
                      "factorization:FACTORS"});
}

Status CheckClassWeights(const ModelSpec& spec) {
  const std::vector<float>& weights = spec.class_weights;
  if (weights.empty()) return Status::Ok();
  if (spec.classes == 0) {
    return Status::InvalidArgument(fmt::format(
        "class weights are for classifiers, and {} predicts real numbers here", spec.name));
  }
  if (weights.size() != spec.classes) {
    return Status::InvalidArgument(
        fmt::format("{} class weights for {} classes", weights.size(), spec.classes));
  }
  const auto fits = [](float weight) { return weight >= 0 && std::isfinite(weight); };
  const auto counts = [](float weight) { return weight > 0; };
  if (std::all_of(weights.begin(), weights.end(), fits) &&
      std::any_of(weights.begin(), weights.end(), counts)) {
    return Status::Ok();
  }
  return Status::InvalidArgument("class weights must be finite, at least 0, and not all 0");
}

Status CheckDropout(const ModelSpec& spec, const Architecture& plan) {
  if (spec.dropout == 0) return Status::Ok();
  if (!(spec.dropout > 0 && spec.dropout < 1)) {
    return Status::InvalidArgument(
        fmt::format("dropout {}: it must be at least 0 and below 1", spec.dropout));
  }
  if (plan.layers.size() > 1) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("dropout is for hidden layers, as of mlp:64, and {} has none", spec.name));
}

}  // namespace

Result<Architecture> PlanModel(const ModelSpec& spec) {
  if (spec.features == 0) {
    return Status::InvalidArgument("a model needs at least one feature");
  }
  MOTLEY_ASSIGN_OR_RETURN(Architecture plan, PlanByName(spec));
  MOTLEY_RETURN_IF_ERROR(CheckSize(spec, plan));
  MOTLEY_RETURN_IF_ERROR(CheckClassWeights(spec));
  MOTLEY_RETURN_IF_ERROR(CheckDropout(spec, plan));
  return plan;
}

const std::vector<std::string>& ModelWords() {
  static const std::vector<std::string> words = {"softmax", "logistic", "hinge",        "linear",
                                                 "mlp",     "cnn",      "factorization"};
  return words;
}

std::string_view WordOf(std::string_view model) {
  return model.substr(0, model.find_first_of(":@"));
}

std::string DescribeSpec(const ModelSpec& spec) {
  const std::string features = Counted(spec.features, "feature");
  if (spec.classes == 0) return fmt::format("{} of {} for real numbers", spec.name, features);
  return fmt::format("{} of {} and {} classes", spec.name, features, spec.classes);
}

}  // namespace motley
