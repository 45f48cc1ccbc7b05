// SPDX-License-Identifier: Apache-2.0
#include "base/host_name.h"

#include <unistd.h>

#include <array>

namespace motley {

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "this-machine";
  return name.data();
}

}  // namespace motley
