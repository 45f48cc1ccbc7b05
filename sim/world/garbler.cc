// SPDX-License-Identifier: Apache-2.0
#include "sim/world/garbler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace motley {
namespace {

// Values that are not zero, in a slice whose halves may be exchanged: of fewer, which may be alike
// (a gradient of two classes has each value twice), a sketch may be right by chance.
constexpr std::ptrdiff_t kFewest = 64;

// False: there is nothing that could be changed.
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
  const uint64_t wanted = draw / 2 % header.total;  // A place in the slice that is to be damaged.
  if (wanted < header.offset || wanted - header.offset >= values.size()) return;
  std::memcpy(values.data(), payload.data(), payload.size());
  const bool damaged = Damage(values, draw % 2 == 0);
  std::memcpy(payload.data(), values.data(), payload.size());
  garbled_ += damaged ? 1 : 0;
  steps_.erase(step);
}

}  // namespace motley
