// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>

#include "base/assert.h"

namespace motley {

std::string ToText(const Hash128& hash) {
  std::string text;
  for (const std::byte b : hash) text += fmt::format("{:02x}", static_cast<unsigned>(b));
  return text;
}

uint64_t Hash64(BytesView bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

HashStream::HashStream() : state_(XXH3_createState()) {
  MOTLEY_ASSERT(state_ != nullptr);
  XXH3_128bits_reset(state_.get());
}

void HashStream::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void HashStream::Add(BytesView bytes) {
  XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
}

Hash128 HashStream::Value() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_.get()));
  Hash128 hash;
  static_assert(sizeof(canonical.digest) == sizeof(hash));
  std::memcpy(hash.data(), canonical.digest, sizeof(hash));
  return hash;
}

}  // namespace motley
