// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_names.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

TEST(WorkerNames, ThoseThatWereMadeUpSayNothingMore) {
  for (const char* name : {"", "worker", "worker-0", "worker-12"}) {
    EXPECT_FALSE(WorthSaying(name)) << name;
  }
  for (const char* name : {"alice", "worker-0 opencl:0", "workerbee", "worker cuda:0"}) {
    EXPECT_TRUE(WorthSaying(name)) << name;
  }
}

TEST(WorkerNames, StandBehindTheNumber) {
  EXPECT_EQ(DescribeWorker(3, "alice"), "worker 3 (alice)");
  EXPECT_EQ(DescribeWorker(3, "worker-3"), "worker 3");
}

// Two machines without names get two lines in a table.
TEST(WorkerNames, ThoseThatProcessesElsewhereHaveGetTheirNumber) {
  EXPECT_EQ(NumberedName("", 3), "worker-3");
  EXPECT_EQ(NumberedName("worker", 3), "worker-3");
  EXPECT_EQ(NumberedName("worker cuda:0+cpu", 3), "worker-3 cuda:0+cpu");
  for (const char* name : {"alice", "worker-0", "worker-0 opencl:0", "workerbee"}) {
    EXPECT_EQ(NumberedName(name, 3), name);
  }
}

// The error uses the names that the user gave the workers.
TEST(WorkerNames, AreInTheErrorThatEndsTheJob) {
  JobWorld world(JobWorld::Options(1, "none"));
  world.StartServer();
  FakeWorker alice(world, 5);
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = kToken;
  join.incarnation = 5;
  join.name = "alice";
  alice.Say(std::move(join));
  alice.Introduce();
  ASSERT_TRUE(world.RunUntil([&] { return !alice.assigned.empty(); }));
  wire::LeaveT leave;
  leave.reason = "the lid is closed";
  alice.Say(leave);
  const Status ended = world.Run().status;
  EXPECT_EQ(ended.code(), StatusCode::kUnavailable);
  EXPECT_NE(ended.message().find("the last, worker 0 (alice): "), std::string::npos)
      << ended.ToString();
}

}  // namespace
}  // namespace motley
