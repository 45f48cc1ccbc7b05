// SPDX-License-Identifier: Apache-2.0
// Entry point of libFuzzer for ./dev fuzz. The environment variable MOTLEY_FUZZ names the target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.h"

namespace {

const motley::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("MOTLEY_FUZZ");
  for (const auto& target : motley::fuzz::Targets()) {
    if (name != nullptr && std::string(name) == target.name) chosen = &target;
  }
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "motley-fuzz: MOTLEY_FUZZ must name a target:");
  for (const auto& target : motley::fuzz::Targets()) std::fprintf(stderr, " %s", target.name);
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
