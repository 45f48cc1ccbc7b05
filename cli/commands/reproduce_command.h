// SPDX-License-Identifier: Apache-2.0
// `motley reproduce` repeats experiments on gradient coding and shows each figure beside its
// reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reproduce/experiment.h"

namespace motley {

struct ReproduceFlags {
  std::vector<std::string> names;  // Empty: all.
  std::string data;                // Empty: found by FindSharedData.
  uint64_t seed = 1;
  uint32_t threads = 0;  // 0: one per processor.
  bool json = false;
  bool quiet = false;
};

// Returns the exit code, kExitFailure if a row does not pass.
int RunReproduce(const ReproduceFlags& flags);

// The named experiments, each once, in the order of the list; all if `names` is empty.
// kInvalidArgument shows the list if a name is unknown.
Result<std::vector<const Experiment*>> SelectExperiments(const std::vector<std::string>& names);

// A table of all rows with their references, then a list of references and notes. Only published
// references are in the column `published`. Rows fit into a terminal of `columns` columns, for
// which the table may lose some of its own; 0: no limit.
std::string ReproduceTable(const Experiment& experiment, const ExperimentResult& result,
                           size_t columns);

// An array with one object per row. A published reference is in `published`, any other in
// `reference_value`; the other member is null.
std::string ReproduceJson(const std::vector<ReproducedRow>& rows);

}  // namespace motley
