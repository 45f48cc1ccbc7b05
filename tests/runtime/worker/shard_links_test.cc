// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/shard_links.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(ShardLinks, ReachWorkersBesideTheServerAtTheServersHost) {
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "10.0.0.1:7000"), "10.0.0.1:7001");
  EXPECT_EQ(ReachableAt("tcp://[::1]:7001", "tcp://[fe80::1]:7000"), "tcp://[fe80::1]:7001");
}

TEST(ShardLinks, ReachOtherWorkersWhereTheyAre) {
  EXPECT_EQ(ReachableAt("10.0.0.2:7001", "10.0.0.1:7000"), "10.0.0.2:7001");
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "127.0.0.1:7000"), "127.0.0.1:7001");
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "unix://server"), "127.0.0.1:7001");
  EXPECT_EQ(ReachableAt("inproc:3", "inproc:1"), "inproc:3");
}

TEST(ShardLinks, ReachLocalSocketsByTheirName) {
  EXPECT_EQ(ReachableAt("unix://worker", "10.0.0.1:7000"), "unix://worker");
  EXPECT_EQ(ReachableAt("unix://worker:1", "tcp://10.0.0.1:7000"), "unix://worker:1");
  EXPECT_EQ(ReachableAt("unix://worker", "unix://server"), "unix://worker");
}

}  // namespace
}  // namespace motley
