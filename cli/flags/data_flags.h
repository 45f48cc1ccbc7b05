// SPDX-License-Identifier: Apache-2.0
// The flags of the samples: files, labels, and what tables mean.
#pragma once

#include "cli/commands/train_command.h"

namespace CLI {
class App;
}

namespace motley {

void AddDataFlags(CLI::App* train, TrainFlags& flags);

}  // namespace motley
