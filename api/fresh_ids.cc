// SPDX-License-Identifier: Apache-2.0
#include "api/fresh_ids.h"

#include <fmt/format.h>

#include <random>

namespace motley {

std::string FreshToken() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

uint32_t FreshJobId() {
  std::random_device random;
  uint32_t id = 0;
  while (id == 0) id = random();
  return id;
}

Incarnation FreshIncarnation() {
  std::random_device random;
  const uint64_t high = random();
  const uint64_t low = random();
  return (high << 32 | low) | 1;  // Not 0.
}

}  // namespace motley
