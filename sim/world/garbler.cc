// SPDX-License-Identifier: Apache-2.0
#include "sim/world/garbler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace motley {
namespace {

// Halves of a slice are exchanged only if it has this many values that are not zero. Fewer values
// may be alike (a gradient of two classes has each value twice), and a sketch might still match.
constexpr std::ptrdiff_t kFewest = 64;

// Returns false if all values are zero, so that nothing can be damaged.
bool Damage(std::vector<float>& values, bool exchange) {
  const auto zeros = std::count(values.begin(), values.end(), 0.0F);
  const auto size = static_cast<std::ptrdiff_t>(values.size());
  if (zeros == size) return false;
  if (exchange && size - zeros >= kFewest) {
    std::rotate(values.begin(), values.begin() + size / 2, values.end());
    return true;
  }
  const auto smaller = [](float a, float b) { return std::abs(a) < std::abs(b); };
  float& largest = *std::max_element(values.begin(), values.end(), smaller);
  largest = -largest;
  return true;
}

}  // namespace

void Garbler::Pass(const Header& header, Bytes& payload) {
  if (header.kind != FrameKind::kGradient || steps_.empty() || payload.empty()) return;
  const auto step = steps_.find(header.step);
  if (step == steps_.end()) return;
  const uint64_t draw = step->second;
  std::vector<float> values(payload.size() / sizeof(float));
  const uint64_t wanted = draw / 2 % header.total;  // The slice with this float is damaged.
  if (wanted < header.offset || wanted - header.offset >= values.size()) return;
  const size_t bytes = values.size() * sizeof(float);  // A packed slice may have a few more.
  std::memcpy(values.data(), payload.data(), bytes);
  const bool damaged = Damage(values, draw % 2 == 0);
  std::memcpy(payload.data(), values.data(), bytes);
  garbled_ += damaged ? 1 : 0;
  steps_.erase(step);
}

}  // namespace motley
