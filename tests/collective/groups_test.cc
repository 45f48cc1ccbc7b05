// SPDX-License-Identifier: Apache-2.0
#include "collective/groups.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Groups, AreReadFromAList) {
  const auto groups = ParseGroups("2,0,1/4,3/5", 6);
  ASSERT_TRUE(groups.ok()) << groups.status().ToString();
  EXPECT_EQ(*groups, (Groups{{2, 0, 1}, {4, 3}, {5}}));
}

TEST(Groups, WrongListsAreErrorsThatSayWhatIsWrong) {
  const auto why = [](const char* text) {
    const auto groups = ParseGroups(text, 3);
    EXPECT_EQ(groups.code(), StatusCode::kInvalidArgument) << text;
    return groups.status().ToString();
  };
  EXPECT_NE(why("0,1").find("member 2 is in none"), std::string::npos);
  EXPECT_NE(why("0,1/1,2").find("member 1 is in the groups twice"), std::string::npos);
  EXPECT_NE(why("0,1,2,3").find("no member 3"), std::string::npos);
  for (const char* text : {"", "0,1,2/", "0 1 2", "0,1/,2", "a", "0,1,-2", "99999999999"}) {
    EXPECT_NE(why(text).find("such as"), std::string::npos) << text;
  }
}

TEST(Groups, AreReadFromATopologyFile) {
  const auto groups = ParseTopology("# Racks.\n2, 0 1\n\n  4\t3 # upstairs\r\n5", 6);
  ASSERT_TRUE(groups.ok()) << groups.status().ToString();
  EXPECT_EQ(*groups, (Groups{{2, 0, 1}, {4, 3}, {5}}));
}

TEST(Groups, WrongTopologyFilesAreErrorsThatSayWhatIsWrong) {
  const auto why = [](const char* text) {
    const auto groups = ParseTopology(text, 3);
    EXPECT_EQ(groups.code(), StatusCode::kInvalidArgument) << text;
    return groups.status().ToString();
  };
  EXPECT_NE(why("0 1\n").find("member 2 is in none"), std::string::npos);
  EXPECT_NE(why("").find("member 0 is in none"), std::string::npos);
  EXPECT_NE(why("0 1\n1 2").find("member 1 is in the groups twice"), std::string::npos);
  EXPECT_NE(why("0\n1 x2").find("line 2: \"x2\" is not the number"), std::string::npos);
  for (const char* text : {"0 1 -2", "0/1/2", "0 1 99999999999"}) {
    EXPECT_NE(why(text).find("such as"), std::string::npos) << text;
  }
}

// Latencies in ms: short within a rack, long between racks.
std::vector<double> Latencies(const std::vector<int>& racks, double near, double far) {
  std::vector<double> seconds;
  for (size_t a = 0; a < racks.size(); ++a) {
    for (size_t b = 0; b < racks.size(); ++b) {
      const double noise = 1 + 0.1 * static_cast<double>((a * 7 + b * 3) % 5);
      seconds.push_back((racks[a] == racks[b] ? near : far) * noise);
    }
  }
  return seconds;
}

TEST(Groups, FollowMeasuredLatencies) {
  EXPECT_EQ(GroupsByLatency(Latencies({0, 1, 0, 1, 2, 0}, 1e-4, 2e-3), 6),
            (Groups{{0, 2, 5}, {1, 3}, {4}}));
}

TEST(Groups, AreSingleMembersWhereLatenciesHaveNoStructure) {
  EXPECT_EQ(GroupsByLatency(Latencies({0, 0, 0}, 1e-4, 1e-4), 3), (Groups{{0}, {1}, {2}}));
  EXPECT_EQ(GroupsByLatency(Latencies({0}, 1, 1), 1), (Groups{{0}}));
}

}  // namespace
}  // namespace motley
