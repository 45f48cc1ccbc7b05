// SPDX-License-Identifier: Apache-2.0
#include "transport/stream/schemes.h"

#include <gmock/gmock.h>

#include <set>

namespace motley {
namespace {

using testing::HasSubstr;

// tests/transport/stream/stream_worlds.cc runs the suite of streams on every entry.
TEST(Schemes, HaveNamesAndFormsOfTheirOwn) {
  std::set<std::string_view> names;
  for (const StreamScheme& scheme : StreamSchemes()) {
    EXPECT_TRUE(names.insert(scheme.name).second) << scheme.name;
    EXPECT_EQ(scheme.form.starts_with(std::string(scheme.name) + "://"), !scheme.name.empty());
  }
}

TEST(Schemes, AddressesAreFoundByScheme) {
  EXPECT_EQ(ParseAddress("127.0.0.1:7000")->scheme->name, "");
  EXPECT_EQ(ParseAddress("tcp://[::1]:7000")->scheme->name, "tcp");
  EXPECT_EQ(ParseAddress("tcp://[::1]:7000")->rest, "[::1]:7000");
  EXPECT_EQ(ParseAddress("unix://digits")->rest, "digits");
}

TEST(Schemes, UnknownSchemesListTheKnownOnes) {
  const auto unknown = ParseAddress("udp://127.0.0.1:7000");
  ASSERT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.status().ToString(), HasSubstr("no scheme \"udp\""));
  for (const StreamScheme& scheme : StreamSchemes()) {
    EXPECT_THAT(unknown.status().ToString(), HasSubstr(std::string(scheme.form)));
  }
}

TEST(Schemes, AddressesThatMakeNoSenseAreRefused) {
  const std::string long_name(65, 'a'), zero("unix://a\0b", 10);
  for (const std::string& bad :
       {std::string("nonsense"), std::string("tcp://nonsense"), std::string("://127.0.0.1:1"),
        std::string("unix://"), "unix://" + long_name, zero}) {
    EXPECT_EQ(ParseAddress(bad).code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(Schemes, LoopbackAndLocalNamesAreReachedOnlyFromHere) {
  for (const char* here :
       {"127.0.0.1:0", "[::1]:0", "localhost:7000", "tcp://127.0.0.1:0", "unix://a"}) {
    EXPECT_TRUE(ReachedOnlyFromHere(here)) << here;
  }
  for (const char* there : {"0.0.0.0:0", "[::]:0", "tcp://192.0.2.1:0", "lab.example:7000", "a"}) {
    EXPECT_FALSE(ReachedOnlyFromHere(there)) << there;
  }
}

TEST(Schemes, WorkersBesideTheServerAreReachedAtItsHost) {
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "10.0.0.1:7000"), "10.0.0.1:7001");
  EXPECT_EQ(ReachableAt("tcp://[::1]:7001", "tcp://[fe80::1]:7000"), "tcp://[fe80::1]:7001");
}

TEST(Schemes, OtherWorkersAreReachedWhereTheyAre) {
  EXPECT_EQ(ReachableAt("10.0.0.2:7001", "10.0.0.1:7000"), "10.0.0.2:7001");
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "127.0.0.1:7000"), "127.0.0.1:7001");
  EXPECT_EQ(ReachableAt("127.0.0.1:7001", "unix://server"), "127.0.0.1:7001");
  EXPECT_EQ(ReachableAt("inproc:3", "inproc:1"), "inproc:3");
}

TEST(Schemes, LocalSocketsAreReachedByTheirName) {
  EXPECT_EQ(ReachableAt("unix://worker", "10.0.0.1:7000"), "unix://worker");
  EXPECT_EQ(ReachableAt("unix://worker:1", "tcp://10.0.0.1:7000"), "unix://worker:1");
  EXPECT_EQ(ReachableAt("unix://worker", "unix://server"), "unix://worker");
}

}  // namespace
}  // namespace motley
