// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reproduce/experiment.h"
#include "tests/reproduce/shared_data.h"

namespace motley {
namespace {

TEST(Reproduce, EveryFigureIsWithinItsTolerance) {
  const auto parallel = MakeThreadParallelFor(2);
  ReproduceContext context;
  context.parallel = parallel.get();
  context.data = SharedDataFolder();
  for (const Experiment& experiment : Experiments()) {
    if (experiment.needs_data && context.data.empty()) continue;
    const auto result = experiment.run(context);
    ASSERT_TRUE(result.ok()) << experiment.name << ": " << result.status().ToString();
    for (const ReproducedRow& row : result->rows) {
      EXPECT_TRUE(row.pass) << row.experiment << ", " << row.scheme << ", " << row.setting << ": "
                            << row.measured << " against "
                            << (row.reference ? row.reference->value : -1);
    }
  }
}

}  // namespace
}  // namespace motley
