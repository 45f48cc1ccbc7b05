// SPDX-License-Identifier: Apache-2.0
// Orders whose answers wait for the server's word.
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/worker/executor_rig.h"

namespace motley {
namespace {

// The worker holds all the data and the parameters of version 0.
class WaitingOrders : public ExecutorRig {
 protected:
  WaitingOrders() : ExecutorRig(2) {
    GivePartition(0);
    GivePartition(1);
    GiveParameters(0);
  }

  void Order(StepId step, uint32_t order = 1) {
    WorkOrder::What row = Row(step, order, {{0, 2, 1.0}});
    row.waits = true;
    EXPECT_TRUE(executor->Take(std::move(row)).ok());
  }
  void Flush(StepId step, uint32_t order = 1) {
    wire::FlushT flush;
    flush.step = step;
    flush.order = order;
    executor->Flush(flush);
    Run();
  }
  size_t Slices() const {
    size_t count = 0;
    for (const Header& header : transport.sent) count += header.kind == FrameKind::kGradient;
    return count;
  }
  // How often the worker said that slices could leave.
  size_t Asked() const {
    size_t count = 0;
    for (const wire::ProgressT& each : Said<wire::ProgressT>()) count += each.ready ? 1 : 0;
    return count;
  }
  std::vector<wire::AnswerEndT> Ends() const { return Said<wire::AnswerEndT>(); }
};

TEST_F(WaitingOrders, NothingLeavesBeforeTheServerSaysSo) {
  Order(0);
  Run();
  EXPECT_EQ(Slices(), 0u);
  EXPECT_TRUE(Ends().empty());
  ASSERT_EQ(Asked(), 1u);
  Flush(0, 2);  // Another order.
  EXPECT_EQ(Slices(), 0u);
  Flush(0);
  EXPECT_EQ(Slices(), 3u);
  EXPECT_EQ(Asked(), 1u);
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_TRUE(Ends()[0].finished);
  EXPECT_EQ(Ends()[0].samples, 200u);
  EXPECT_EQ(transport.held.rbegin()->second.header.kind, FrameKind::kControl)
      << "behind the slices";
  Flush(0);  // It comes again.
  EXPECT_EQ(Slices(), 3u);
}

TEST_F(WaitingOrders, ACancelledAnswerNeverLeaves) {
  Order(0);
  Run();
  executor->Cancel(0, 0);
  Flush(0);
  EXPECT_EQ(Slices(), 0u);
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_FALSE(Ends()[0].finished);
  EXPECT_EQ(Ends()[0].samples, 200u) << "all was computed";
}

TEST_F(WaitingOrders, ANewerStepSupersedesAnAnswerThatWaits) {
  Order(0);
  Run();
  GiveParameters(1);
  Order(1);
  Run();
  ASSERT_EQ(Ends().size(), 1u);
  EXPECT_FALSE(Ends()[0].finished);
  EXPECT_EQ(Asked(), 2u);
  Flush(1);
  EXPECT_EQ(Slices(), 3u);
  for (const Header& header : transport.sent) {
    EXPECT_TRUE(header.kind != FrameKind::kGradient || header.step == 1);
  }
}

TEST_F(WaitingOrders, AnAnswerThatMayLeaveAlreadyAsksForNothing) {
  Order(0);
  Flush(0);
  EXPECT_EQ(Slices(), 3u);
  EXPECT_EQ(Asked(), 0u);
}

// Slices that are final early ask early, and leave in the order in which they became final.
TEST_F(WaitingOrders, SlicesThatAreFinalEarlyWaitToo) {
  Outbox outbox(
      transport, [](uint32_t) { return PeerId{1}; }, Slicing(20, 8), 0, [] {});
  Outbox::Vector& vector = *outbox.Free();
  ASSERT_TRUE(outbox.Fit(vector, 1).ok());
  vector.computing = true;
  outbox.Describe(vector, Header(), 0);
  vector.held = true;
  EXPECT_FALSE(outbox.Final(vector, 10, 16)) << "not all of the slice";
  EXPECT_TRUE(outbox.Final(vector, 16, 20));
  EXPECT_TRUE(outbox.Final(vector, 8, 10));
  EXPECT_EQ(Slices(), 0u);
  outbox.LetGo(vector);
  EXPECT_EQ(Slices(), 2u);
  EXPECT_FALSE(outbox.Final(vector, 0, 8));
  EXPECT_EQ(Slices(), 3u);
  outbox.Send(vector);
  EXPECT_EQ(Slices(), 3u);
}

}  // namespace
}  // namespace motley
