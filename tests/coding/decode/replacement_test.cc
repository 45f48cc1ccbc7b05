// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/replacement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Replacement Of(CodeForm form) {
  return Replacement(std::make_shared<const CodeForm>(std::move(form)));
}

TEST(Replacement, IsOfTheLowestRowsAndOnlyOfWhatIsNeeded) {
  const Replacement rs = Of(MustBuild("rs", EqualRequest(5, 1, 10)));
  EXPECT_THAT(rs.RowsFor({false, false, true, false, false}), IsEmpty());
  EXPECT_THAT(rs.RowsFor({false, true, true, false, true}), ElementsAre(1, 2));
  const Replacement groups = Of(MustBuild("repetition", EqualRequest(6, 1, 12)));
  EXPECT_THAT(groups.RowsFor({true, false, true, true, true, true}), ElementsAre(0, 2));
}

TEST(Replacement, OverlappingTilesAreCompletedToACover) {
  CodeForm form;
  form.name = "leases";
  form.workers = 5;
  form.partitions = 4;
  form.rows = {{{0, 1}, {1, 1}}, {{2, 1}, {3, 1}}, {{0, 1}}, {{1, 1}, {2, 1}}, {{3, 1}}};
  const Replacement tiles = Of(std::move(form));
  EXPECT_THAT(tiles.RowsFor({true, true, true, false, false}), ElementsAre(2));
  EXPECT_THAT(tiles.RowsFor({false, true, false, true, true}), ElementsAre(1));
}

TEST(Replacement, NobodyMissesARowThatHoldsNothing) {
  const Replacement none = Of(MustBuild("none", {{1, 1e-6, 1}, 0, 8, 1}));
  EXPECT_THAT(none.RowsFor({false, true, false}), IsEmpty());
}

TEST(Replacement, OfClassesTheCheapestIsCompleted) {
  const CodeForm form = MustBuild("repetition", EqualRequest(5, 1, 10));  // Of 3 and 2 workers.
  std::vector<bool> absent(5, true);
  const auto rows = Of(form).RowsFor(absent);
  EXPECT_EQ(rows.size(), 2);
  for (RowId row : rows) absent[row] = false;
  absent.flip();
  EXPECT_TRUE(Solve(form, absent).ok());
}

}  // namespace
}  // namespace motley
