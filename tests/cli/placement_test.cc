// SPDX-License-Identifier: Apache-2.0
#include "cli/report/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kRate = 125e6;

ReduceChoice Chosen(size_t workers, double server, uint64_t floats, const ReduceMode& mode) {
  ReduceRequest request;
  request.mode = mode;
  request.exchange.workers.assign(workers, NodeLink{kRate, kRate});
  request.exchange.servers.assign(mode.servers, NodeLink{server, server});
  request.exchange.bytes = 4.0 * static_cast<double>(floats);
  request.coordinator = {server, server};
  request.floats = floats;
  const Result<ReduceChoice> choice = ChooseReduction(request);
  EXPECT_TRUE(choice.ok()) << choice.status().ToString();
  return choice.ok() ? *choice : ReduceChoice{};
}

TEST(PlacedVector, SaysWhoSumsAndWhatItTakes) {
  const PlacedVector words = {.bytes = 4e6, .workers = {"a", "b", "c", "d"}, .servers = 2};
  const std::string direct = words.Text(Chosen(4, kRate, 1'000'000, {Reduce::kAuto}));
  EXPECT_THAT(direct,
              HasSubstr("--reduce direct: the workers sum the vector of 4 MB, each a range"));
  EXPECT_THAT(direct, HasSubstr("takes 48.2 ms of a step, and the server alone would need 257 ms"));
  const ReduceChoice star = Chosen(4, 100 * kRate, 1'000'000, {Reduce::kStar});
  EXPECT_THAT(words.Text(star), HasSubstr("--reduce star: the server sums the vector of 4 MB. If"));
  EXPECT_THAT(words.Text(star), HasSubstr("The link of a needs all of this time"));
  const ReduceChoice servers = Chosen(4, kRate, 1'000'000, {Reduce::kSharded, 2});
  EXPECT_THAT(words.Text(servers), HasSubstr("--reduce sharded:2: server processes sum"));
  EXPECT_EQ(words.Shares(servers), "server 0 50.0 %, server 1 50.0 %");
}

TEST(PlacedVector, SaysWhyTheServerKeepsAShortVector) {
  const PlacedVector words = {.bytes = 160e3, .workers = std::vector<std::string>(40, "w")};
  ReduceChoice star;
  star.reason.kind = ReduceReason::Kind::kMessages;
  star.reason.other.exchange.total = 1e-3;
  star.reason.star.exchange.total = 2e-3;
  star.reason.other.messages = 4e-3;
  star.reason.star.messages = 0.5e-3;
  EXPECT_THAT(words.Text(star), HasSubstr("the vector of 160 kB"));
  EXPECT_THAT(words.Text(star), HasSubstr("Workers would have its bytes in 1.00 ms instead of 2.00 "
                                          "ms, but latencies and messages would take them 4.00 ms "
                                          "instead of 0.500 ms"));
  star.reason.kind = ReduceReason::Kind::kNoGain;
  EXPECT_THAT(words.Text(star), HasSubstr("the workers would not be clearly faster"));
}

TEST(PlacedVector, ListsShares) {
  PlacedVector words = {.bytes = 16e6, .workers = {}};
  for (int i = 0; i < 20; ++i) words.workers.push_back("w" + std::to_string(i));
  const ReduceChoice choice = Chosen(20, kRate, 4'000'000, {Reduce::kDirect});
  EXPECT_THAT(words.Shares(choice), HasSubstr("w0 5.0 %, w1 5.0 %"));
  EXPECT_THAT(words.Shares(choice), HasSubstr("w15 5.0 % and 4 more"));
  EXPECT_THAT(words.Shares(choice), Not(HasSubstr("w16")));
}

}  // namespace
}  // namespace motley
