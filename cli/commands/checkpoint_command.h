// SPDX-License-Identifier: Apache-2.0
// `motley checkpoint list|verify|restore|export DIR`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace motley {

struct CheckpointFlags {
  enum class Action { kList, kVerify, kRestore, kExport };
  Action action = Action::kList;
  std::string folder;
  std::optional<uint64_t> step;  // Not given: the newest.
  std::string out;               // export; then `folder` may be a model's file.
  std::string format;            // export: "torch"; empty: not given.
  bool json = false;
};

// The exit code: 1 when something is lost or damaged, 3 when there is no such checkpoint.
int RunCheckpoint(const CheckpointFlags& flags);

}  // namespace motley
