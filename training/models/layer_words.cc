// SPDX-License-Identifier: Apache-2.0
#include "training/models/layer_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace motley {
namespace {

constexpr uint32_t kMaxWidth = 1u << 20;
constexpr size_t kMaxHidden = 64;

std::optional<uint32_t> ParseWidth(std::string_view text) {
  uint32_t width = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, width);
  if (error != std::errc() || stop != end || width < 1 || width > kMaxWidth) return std::nullopt;
  return width;
}

std::vector<std::string_view> Cut(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Parses "256,norm,128"; nothing if the text has another form.
std::optional<std::vector<LayerWord>> ParseLayers(std::string_view text, bool may_norm) {
  std::vector<LayerWord> layers;
  for (const std::string_view word : Cut(text, ',')) {
    if (may_norm && word == "norm" && !layers.empty() && !layers.back().norm) {
      layers.back().norm = true;
      continue;
    }
    const std::optional<uint32_t> width = ParseWidth(word);
    if (!width || layers.size() == kMaxHidden) return std::nullopt;
    layers.push_back({.width = *width});
  }
  return layers;
}

std::string_view Behind(std::string_view name, char mark) {
  return name.substr(std::min(name.find(mark), name.size() - 1) + 1);
}

}  // namespace

Result<std::vector<LayerWord>> ParseMlp(std::string_view name) {
  auto layers = ParseLayers(Behind(name, ':'), true);
  if (layers && name.find(':') != std::string_view::npos) return *std::move(layers);
  return Status::InvalidArgument(
      fmt::format("{}: write the widths of at most {} hidden layers, each from 1 to {}, and norm "
                  "after those that are to be normalised, as in mlp:256,128 or mlp:256,norm,128",
                  name, kMaxHidden, kMaxWidth));
}

Result<CnnWords> ParseCnn(std::string_view name) {
  const Status refusal = Status::InvalidArgument(fmt::format(
      "{}: write the channels of each convolution and, after a slash, the widths of dense "
      "layers; put the images' height x width x channels first unless they are "
      "square, as in cnn:16,32 or cnn:16,32/128 or cnn@28x28x1:16,32",
      name));
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return refusal;
  CnnWords words;
  const std::string_view head = name.substr(0, colon);
  if (const size_t at = head.find('@'); at != std::string_view::npos) {
    const std::vector<std::string_view> sizes = Cut(head.substr(at + 1), 'x');
    uint32_t* const to[] = {&words.height, &words.width, &words.channels};
    if (sizes.size() != 3) return refusal;
    for (size_t i = 0; i < 3; ++i) {
      const std::optional<uint32_t> size = ParseWidth(sizes[i]);
      if (!size) return refusal;
      *to[i] = *size;
    }
  }
  const std::vector<std::string_view> parts = Cut(name.substr(colon + 1), '/');
  auto convolutions = ParseLayers(parts[0], false);
  if (!convolutions || parts.size() > 2) return refusal;
  words.convolutions = *std::move(convolutions);
  if (parts.size() == 1) return words;
  auto dense = ParseLayers(parts[1], true);
  if (!dense) return refusal;
  words.dense = *std::move(dense);
  return words;
}

Result<uint32_t> ParseFactors(std::string_view name) {
  const std::optional<uint32_t> factors = ParseWidth(Behind(name, ':'));
  if (factors && name.find(':') != std::string_view::npos) return *factors;
  return Status::InvalidArgument(
      fmt::format("{}: write how many factors each feature has, from 1 to {}, as in "
                  "factorization:16",
                  name, kMaxWidth));
}

}  // namespace motley
