// SPDX-License-Identifier: Apache-2.0
// Flags for samples: files, labels, and the meaning of tables.
#pragma once

#include "cli/commands/train_command.h"

namespace CLI {
class App;
}

namespace motley {

void AddDataFlags(CLI::App* train, TrainFlags& flags);

}  // namespace motley
