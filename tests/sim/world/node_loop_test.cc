// SPDX-License-Identifier: Apache-2.0
#include "sim/world/node_loop.h"

#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

using std::chrono::milliseconds;

class NodeLoopTest : public testing::Test {
 protected:
  Task Log(const std::string& name) {
    return [this, name] { log_ += name; };
  }
  void RunTo(int ms) { world_.RunUntilTime(Time(milliseconds(ms))); }

  VirtualLoop world_;
  NodeLoop loop_{world_};
  std::string log_;
};

TEST_F(NodeLoopTest, WorksLikeTheWorldsLoopUntilSomethingHappensToIt) {
  loop_.After(milliseconds(2), Log("c"));
  loop_.After(milliseconds(1), Log("b"));
  loop_.Post(Log("a"));
  const TimerId cancelled = loop_.After(milliseconds(1), Log("x"));
  loop_.Cancel(cancelled);
  loop_.Cancel(cancelled);
  EXPECT_EQ(loop_.pending(), 3u);
  RunTo(5);
  EXPECT_EQ(log_, "abc");
  EXPECT_EQ(loop_.pending(), 0u);
}

TEST_F(NodeLoopTest, WhatBecameDueWhileFrozenRunsAtThawInOrder) {
  loop_.After(milliseconds(1), Log("a"));
  loop_.After(milliseconds(2), Log("b"));
  loop_.After(milliseconds(10), Log("d"));
  loop_.Freeze();
  RunTo(10);
  EXPECT_EQ(log_, "");
  loop_.After(milliseconds(0), Log("e"));
  loop_.Thaw();
  RunTo(10);
  EXPECT_EQ(log_, "abde");
}

TEST_F(NodeLoopTest, TasksDueAtTheMomentOfThawRunAfterTheBacklog) {
  loop_.After(milliseconds(1), Log("a"));
  loop_.Freeze();
  RunTo(2);
  loop_.After(milliseconds(3), [] {});
  world_.After(milliseconds(3), [this] { loop_.Thaw(); });
  loop_.After(milliseconds(3), Log("b"));
  RunTo(5);
  EXPECT_EQ(log_, "ab");
}

TEST_F(NodeLoopTest, FreezingAgainDuringTheBacklogKeepsTheRestInOrder) {
  loop_.Post([this] {
    log_ += "a";
    loop_.Freeze();
  });
  loop_.Post(Log("b"));
  loop_.Post(Log("c"));
  loop_.Freeze();
  RunTo(1);
  loop_.Thaw();
  RunTo(2);
  EXPECT_EQ(log_, "a");
  loop_.Post(Log("d"));
  RunTo(3);
  loop_.Thaw();
  RunTo(4);
  EXPECT_EQ(log_, "abcd");
}

TEST_F(NodeLoopTest, TimersCancelledWhileFrozenDoNotRunAtThaw) {
  const TimerId a = loop_.After(milliseconds(1), Log("a"));
  loop_.After(milliseconds(1), Log("b"));
  loop_.Freeze();
  RunTo(2);
  loop_.Cancel(a);
  loop_.Thaw();
  RunTo(3);
  EXPECT_EQ(log_, "b");
}

TEST_F(NodeLoopTest, NothingRunsOnceKilled) {
  loop_.After(milliseconds(1), Log("a"));
  loop_.Freeze();
  RunTo(2);
  loop_.After(milliseconds(1), Log("b"));
  loop_.Kill();
  EXPECT_EQ(loop_.pending(), 0u);
  loop_.Thaw();
  loop_.Post(Log("c"));
  RunTo(9);
  EXPECT_EQ(log_, "");
  EXPECT_EQ(world_.pending(), 0u);
}

TEST_F(NodeLoopTest, ATaskMayKillItsOwnLoop) {
  loop_.Post([this] {
    loop_.Kill();
    log_ += "a";
  });
  loop_.Post(Log("b"));
  RunTo(1);
  EXPECT_EQ(log_, "a");
}

}  // namespace
}  // namespace motley
