// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "profiles/profile.h"

namespace motley {

std::string DeviceIdentity(const DeviceProfile& device, std::string_view measured_with) {
  const HardwareFacts& facts = device.hardware;
  const std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", device.kind,
                                       device.memory_bytes, facts.vendor, facts.model, facts.driver,
                                       facts.cores, facts.threads, facts.core_kinds, measured_with);
  // FNV-1a is enough: nobody gains from a collision here.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace motley
