// SPDX-License-Identifier: Apache-2.0
// `motley reproduce`: experiments on gradient coding run again, each figure beside its reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reproduce/experiment.h"

namespace motley {

struct ReproduceFlags {
  std::vector<std::string> names;  // Empty: all.
  std::string data;                // Empty: looked for (FindSharedData).
  uint64_t seed = 1;
  uint32_t threads = 0;  // 0: as many as there are processors.
  bool json = false;
  bool quiet = false;
};

// The exit code; kExitFailure when a row does not pass.
int RunReproduce(const ReproduceFlags& flags);

// The experiments of these names, in the order of the list, each once; all without names.
// kInvalidArgument with the list for a name that is none.
Result<std::vector<const Experiment*>> SelectExperiments(const std::vector<std::string>& names);

// A table of every row beside its reference, which is in the column `published` only when somebody
// published it, then a list of the references and the notes.
std::string ReproduceTable(const Experiment& experiment, const ExperimentResult& result);

// An array of objects, one per row. Where there is a reference, `published` has its value if
// somebody published it, else `reference_value` has; the other one is null.
std::string ReproduceJson(const std::vector<ReproducedRow>& rows);

}  // namespace motley
