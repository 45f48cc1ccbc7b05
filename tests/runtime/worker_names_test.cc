// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_names.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/runtime/job_world.h"

namespace motley {
namespace {

// Of four workers, the last two have names.
std::string Named(std::string_view text) {
  return WithWorkerNames(text, [](WorkerId worker) -> std::string {
    return worker == 2 ? "alice" : worker == 3 ? "bob" : "";
  });
}

TEST(WorkerNames, StandBehindTheNumbers) {
  EXPECT_EQ(Named("worker 2 lost: it left; 3 workers go on"),
            "worker 2 (alice) lost: it left; 3 workers go on");
  EXPECT_EQ(Named("the last, worker 3: reset"), "the last, worker 3 (bob): reset");
  EXPECT_EQ(Named("waiting for workers 0, 2, 3 to join and worker 2 to get ready"),
            "waiting for workers 0, 2 (alice), 3 (bob) to join and worker 2 (alice) to get ready");
}

TEST(WorkerNames, OtherNumbersStayAsTheyAre) {
  for (const char* text :
       {"worker 1 lost", "worker 2 (alice) reports: full", "worker 23", "coworker 2", "2 workers",
        "worker 99999999999999999999 lost", "worker", "workers ", ""}) {
    EXPECT_EQ(Named(text), text);
  }
  EXPECT_EQ(Named("worker 2, 3 of them"), "worker 2 (alice), 3 of them");
}

TEST(WorkerNames, ThoseThatWereMadeUpSayNothingMore) {
  for (const char* name : {"", "worker", "worker-0", "worker-12"}) {
    EXPECT_FALSE(WorthSaying(name)) << name;
  }
  for (const char* name : {"alice", "worker-0 opencl:0", "workerbee", "worker cuda:0"}) {
    EXPECT_TRUE(WorthSaying(name)) << name;
  }
}

// Two machines without names are two lines of a table.
TEST(WorkerNames, ThoseThatProcessesElsewhereHaveGetTheirNumber) {
  EXPECT_EQ(NumberedName("", 3), "worker-3");
  EXPECT_EQ(NumberedName("worker", 3), "worker-3");
  EXPECT_EQ(NumberedName("worker cuda:0+cpu", 3), "worker-3 cuda:0+cpu");
  for (const char* name : {"alice", "worker-0", "worker-0 opencl:0", "workerbee"}) {
    EXPECT_EQ(NumberedName(name, 3), name);
  }
}

// As whoever started the workers knows them, in what the scheduler and the end have to say.
TEST(WorkerNames, AreInNoticesAndInTheErrorThatEndsTheJob) {
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
  EXPECT_NE(world.watcher.Notices().find("worker 0 (alice) lost: "), std::string::npos)
      << world.watcher.Notices();
}

}  // namespace
}  // namespace motley
