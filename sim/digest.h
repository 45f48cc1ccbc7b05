// SPDX-License-Identifier: Apache-2.0
// A 64-bit digest of what happened in a simulated run: two runs of one seed must agree.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace motley {

// The order of values matters. Mixing is a bijection: the finalizer of MurmurHash3 (Appleby).
class Digest {
 public:
  void Mix(uint64_t value) {
    state_ = (std::rotl(state_, 27) ^ value) * 0x9e3779b97f4a7c15u;
    state_ ^= state_ >> 33;
    state_ *= 0xff51afd7ed558ccdu;
    state_ ^= state_ >> 33;
  }
  void Mix(std::string_view text) {
    Mix(text.size());
    for (const char c : text) Mix(static_cast<uint64_t>(static_cast<unsigned char>(c)));
  }
  // Mixes the bits of every value, so -0 and 0 differ.
  void Mix(std::span<const float> values) {
    Mix(values.size());
    for (const float value : values) Mix(static_cast<uint64_t>(std::bit_cast<uint32_t>(value)));
  }

  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x6d6f746c6579u;
};

}  // namespace motley
