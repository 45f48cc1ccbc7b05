// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/checksum.h"

#include <xxhash.h>

#include "base/assert.h"

namespace motley {

uint64_t Checksum::Of(BytesView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Checksum::Checksum() : state_(XXH3_createState()) {
  MOTLEY_ASSERT(state_ != nullptr);
  Reset();
}
void Checksum::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

void Checksum::Reset() { XXH3_64bits_reset(state_.get()); }
void Checksum::Add(BytesView bytes) {
  if (!bytes.empty()) XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
}
uint64_t Checksum::Value() const { return XXH3_64bits_digest(state_.get()); }

}  // namespace motley
