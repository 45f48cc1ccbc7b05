// SPDX-License-Identifier: Apache-2.0
#include "collective/mesh.h"

#include <gtest/gtest.h>

#include "tests/collective/collective_rig.h"

namespace motley {
namespace {

TEST(Mesh, MembersMayStartInAnyOrder) {
  const auto world = MakeTcpWorld();
  const std::vector<std::string> addresses = {world->NewAddress(), world->NewAddress(),
                                              world->NewAddress()};
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Mesh>> meshes;
  int ready = 0;
  for (const Rank rank : {2u, 0u, 1u}) {
    transports.push_back(world->MakeTransport());
    meshes.push_back(std::make_unique<Mesh>(world->loop(), *transports.back(),
                                            MeshOptions{.rank = rank, .addresses = addresses},
                                            [&](const Result<Members>& members) {
                                              EXPECT_TRUE(members.ok());
                                              ++ready;
                                            }));
    ASSERT_TRUE(meshes.back()->Start().ok());
    const Time until = world->loop().Now() + std::chrono::milliseconds(120);
    world->RunUntil([&] { return world->loop().Now() > until; });
  }
  EXPECT_TRUE(world->RunUntil([&] { return ready == 3; }));
  for (auto& transport : transports) transport->Close();
}

TEST(Mesh, MeasuresTheMembersWithLowerRanks) {
  const auto world = MakeTcpWorld();
  const std::vector<std::string> addresses = {world->NewAddress(), world->NewAddress()};
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<std::unique_ptr<Mesh>> meshes;
  std::vector<Members> ready(2);
  for (const Rank rank : {0u, 1u}) {
    transports.push_back(world->MakeTransport());
    meshes.push_back(std::make_unique<Mesh>(
        world->loop(), *transports.back(),
        MeshOptions{.rank = rank, .addresses = addresses, .pings = 3},
        [&ready, rank](const Result<Members>& members) { ready[rank] = *members; }));
    ASSERT_TRUE(meshes.back()->Start().ok());
  }
  ASSERT_TRUE(world->RunUntil([&] { return ready[0].count() == 2 && ready[1].count() == 2; }));
  EXPECT_EQ(ready[0].round_trips[1], Duration::zero());
  EXPECT_GT(ready[1].round_trips[0], Duration::zero());
  for (auto& transport : transports) transport->Close();
}

TEST(Mesh, AMemberThatDoesNotComeIsNamed) {
  const auto world = MakeVirtualWorld();
  const auto transport = world->MakeTransport();
  std::optional<Status> end;
  Mesh mesh(world->loop(), *transport,
            {.rank = 1, .addresses = {"absent", "here"}, .limit = std::chrono::seconds(5)},
            [&](const Result<Members>& members) { end = members.status(); });
  ASSERT_TRUE(mesh.Start().ok());
  ASSERT_TRUE(world->RunUntil([&] { return end.has_value(); }));
  EXPECT_EQ(end->code(), StatusCode::kUnavailable);
  EXPECT_EQ(end->ToString(), "member 0 at absent did not connect within 5 s");
  transport->Close();
}

TEST(Mesh, AStrangerIsNotAdmitted) {
  const auto world = MakeVirtualWorld();
  const auto transport = world->MakeTransport(), other = world->MakeTransport();
  bool connected = false;
  Mesh mesh(world->loop(), *transport,
            {.rank = 0, .addresses = {"here", "there"}, .incarnation = 2},
            [&](const Result<Members>& members) { connected = members.ok(); });
  ASSERT_TRUE(mesh.Start().ok());
  std::optional<Status> end;
  Mesh stranger(world->loop(), *other,
                {.rank = 1, .addresses = {"here", "there"}, .incarnation = 1},
                [&](const Result<Members>& members) {
                  if (!members.ok()) end = members.status();
                });
  ASSERT_TRUE(stranger.Start().ok());
  world->RunUntil([&, left = 200]() mutable { return left-- == 0; });
  EXPECT_FALSE(connected);
  transport->Close();
  other->Close();
}

}  // namespace
}  // namespace motley
