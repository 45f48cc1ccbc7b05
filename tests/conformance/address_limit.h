// SPDX-License-Identifier: Apache-2.0
// For tests that limit a process's address space.
#pragma once

#include <sys/resource.h>

namespace motley::conformance {

// Emulators of other processors accept a limit of addresses silently, but do not enforce it.
inline bool AddressesCanBeLimited() {
  rlimit before{};
  if (getrlimit(RLIMIT_AS, &before) != 0) return false;
  rlimit less = before;
  less.rlim_cur = before.rlim_cur == RLIM_INFINITY ? rlim_t{1} << 46 : before.rlim_cur - 4096;
  rlimit kept{};
  const bool set = setrlimit(RLIMIT_AS, &less) == 0 && getrlimit(RLIMIT_AS, &kept) == 0;
  setrlimit(RLIMIT_AS, &before);
  return set && kept.rlim_cur == less.rlim_cur;
}

inline constexpr char kNoAddressLimit[] = "no limit of addresses is kept here";

}  // namespace motley::conformance
