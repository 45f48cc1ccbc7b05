// SPDX-License-Identifier: Apache-2.0
#include "training/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/suggest.h"

namespace motley {
namespace {

constexpr uint32_t kMaxWidth = 1u << 20;
constexpr size_t kMaxHidden = 64;

Result<std::vector<uint32_t>> ParseWidths(std::string_view text) {
  std::vector<uint32_t> widths;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    uint32_t width = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, width);
    if (error != std::errc() || stop != text.data() + end || width < 1 || width > kMaxWidth ||
        widths.size() == kMaxHidden) {
      return Status::InvalidArgument(
          fmt::format("mlp:{}: write the widths of at most {} hidden layers, each from 1 to {}, as "
                      "in mlp:256,128",
                      text, kMaxHidden, kMaxWidth));
    }
    widths.push_back(width);
    at = end + 1;
  }
  return widths;
}

Status NeedsClasses(const ModelSpec& spec, uint32_t least, uint32_t most) {
  if (spec.classes == 0) {
    return Status::InvalidArgument(
        fmt::format("{} is a classifier, but the labels are read as real numbers; linear fits them",
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

Status CheckSize(const ModelSpec& spec, const Architecture& plan) {
  uint64_t inputs = spec.features;
  uint64_t total = 0;
  for (size_t i = 0; i <= plan.hidden.size(); ++i) {
    const uint64_t outputs = i < plan.hidden.size() ? plan.hidden[i] : plan.outputs;
    const bool fits = inputs + 1 <= kMaxParameters / outputs;
    if (fits) total += (inputs + 1) * outputs;
    if (!fits || total > kMaxParameters) {
      return Status::InvalidArgument(
          fmt::format("{} on {} features and {} classes has more than {} parameters", spec.name,
                      spec.features, spec.classes, kMaxParameters));
    }
    inputs = outputs;
  }
  return Status::Ok();
}

Result<Architecture> PlanByName(const ModelSpec& spec) {
  constexpr std::string_view kMlp = "mlp:";
  constexpr uint32_t kAny = UINT32_MAX;
  if (spec.name == "linear") {
    if (spec.classes == 0) return Architecture{.outputs = 1, .loss = Loss::kSquared};
    return Status::InvalidArgument(
        fmt::format("linear predicts real numbers, but the labels are read as {} classes; softmax "
                    "fits them",
                    spec.classes));
  }
  if (spec.name == "logistic") {
    MOTLEY_RETURN_IF_ERROR(NeedsClasses(spec, 2, 2));
    return Architecture{.outputs = 1, .loss = Loss::kLogistic};
  }
  if (spec.name == "softmax") {
    MOTLEY_RETURN_IF_ERROR(NeedsClasses(spec, 2, kAny));
    return Architecture{.outputs = spec.classes, .loss = Loss::kSoftmax};
  }
  if (spec.name.starts_with(kMlp)) {
    MOTLEY_RETURN_IF_ERROR(NeedsClasses(spec, 2, kAny));
    MOTLEY_ASSIGN_OR_RETURN(std::vector<uint32_t> hidden,
                            ParseWidths(std::string_view(spec.name).substr(kMlp.size())));
    return Architecture{
        .hidden = std::move(hidden), .outputs = spec.classes, .loss = Loss::kSoftmax};
  }
  return CheckChoice("model", spec.name, {"softmax", "logistic", "linear", "mlp:WIDTH,..."});
}

}  // namespace

Result<Architecture> PlanModel(const ModelSpec& spec) {
  MOTLEY_ASSIGN_OR_RETURN(Architecture plan, PlanByName(spec));
  if (spec.features == 0) return Status::InvalidArgument("a model needs at least one feature");
  MOTLEY_RETURN_IF_ERROR(CheckSize(spec, plan));
  return plan;
}

}  // namespace motley
