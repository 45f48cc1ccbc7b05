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
  std::string out;               // For export; `folder` may then be a model file.
  std::string format;            // For export, "torch"; empty: not given.
  bool json = false;
};

// Returns the exit code: 1 if a shard is lost or damaged, 3 if there is no such checkpoint.
int RunCheckpoint(const CheckpointFlags& flags);

}  // namespace motley
