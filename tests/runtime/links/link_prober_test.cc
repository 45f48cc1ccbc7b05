// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/link_prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/links/messages.h"
#include "sim/world/sim_network.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr double kWithin = 0.1;  // The tolerated error, as a part of the link's true value.

// A host and a prober on a simulated link.
class SimLinkTest : public testing::Test {
 protected:
  Result<LinkProbe> Probe(const SimLinkOptions& link, uint32_t streams,
                          const std::string& token = kToken) {
    VirtualLoop world;
    NodeLoop host_loop(world), loop(world);
    SimNetwork network(1);
    const auto host_transport = network.MakeTransport(host_loop);
    EXPECT_TRUE(host_transport->Listen("server:1").ok());
    const ProbeHost host(host_loop, *host_transport, kToken, [this] { ++joined_; });
    const auto transport = network.MakeTransport(loop, link);
    LinkProber prober(loop, *transport,
                      {.server = "server:1", .token = token, .streams = streams, .seconds = 2});
    std::optional<Result<LinkProbe>> result;
    prober.Start([&](const Result<LinkProbe>& probe) { result = probe; });
    world.RunUntil([&] { return result.has_value(); });
    transport->Close();
    host_transport->Close();
    return result ? *result : Status::Internal("it never ended");
  }
  int joined_ = 0;
};

TEST_F(SimLinkTest, NobodyMeasuresWithAPartOrAMultipleOfTheToken) {
  const std::string right = kToken;
  for (const std::string& token : {std::string(), right.substr(0, 1), right + right, right + "x"}) {
    const auto probe = Probe({}, 1, token);
    EXPECT_EQ(probe.code(), StatusCode::kPermission) << token << probe.status().ToString();
  }
  EXPECT_EQ(joined_, 0);
}

TEST_F(SimLinkTest, FindsWhatALinkIs) {
  struct Link {
    double latency, up, down;
  };
  for (const Link& link : {Link{0.0002, 1.25e8, 1.25e8}, Link{0.03, 2e7, 5e7},
                           Link{0.005, 1.25e6, 1e7}, Link{0.02, 1e8, 8e7}}) {
    const SimLinkOptions options{.latency = FromSeconds(link.latency),
                                 .bytes_per_second = link.up,
                                 .back = SimLinkWay{FromSeconds(link.latency), link.down}};
    const auto probe = Probe(options, 1);
    ASSERT_TRUE(probe.ok()) << probe.status().ToString();
    EXPECT_NEAR(probe->link.Up().latency_seconds / link.latency, 1, kWithin);
    EXPECT_NEAR(probe->link.Up().bytes_per_second / link.up, 1, kWithin);
    EXPECT_NEAR(probe->link.Down().bytes_per_second / link.down, 1, kWithin);
    EXPECT_GE(probe->loaded_latency_seconds, probe->idle_latency_seconds);
  }
}

// The link has variable delays, and the prober takes the median of round trips.
TEST_F(SimLinkTest, FindsItOnAnUnevenLink) {
  const auto probe =
      Probe({.latency = milliseconds(20), .bytes_per_second = 5e7, .jitter = milliseconds(1)}, 1);
  ASSERT_TRUE(probe.ok()) << probe.status().ToString();
  EXPECT_NEAR(probe->link.latency_seconds, 0.021, 0.0021);
  EXPECT_NEAR(probe->link.bytes_per_second / 5e7, 1, kWithin);
}

TEST_F(SimLinkTest, AddsUpConnectionsThatShareTheLink) {
  const auto probe = Probe({.latency = milliseconds(10), .bytes_per_second = 2e7}, 4);
  ASSERT_TRUE(probe.ok()) << probe.status().ToString();
  EXPECT_EQ(joined_, 4);
  EXPECT_NEAR(probe->link.bytes_per_second / 2e7, 1, kWithin);
  EXPECT_NEAR(probe->link.Down().bytes_per_second / 2e7, 1, kWithin);
}

TEST_F(SimLinkTest, AStrangerMeasuresNothing) {
  const auto probe = Probe({.latency = milliseconds(1)}, 1, "another");
  EXPECT_EQ(probe.code(), StatusCode::kPermission);
  EXPECT_THAT(probe.status().ToString(), HasSubstr("MOTLEY_TOKEN"));
  EXPECT_EQ(joined_, 0);
}

// Lets every peer in. By its clock all slices arrive at once, or their count decreases.
class StrangeHost : private Receiver {
 public:
  StrangeHost(Transport& transport, bool backwards) : transport_(transport), backwards_(backwards) {
    transport.SetReceiver(this);
  }
  ~StrangeHost() override { transport_.SetReceiver(nullptr); }

 private:
  void OnConnected(PeerId, const PeerIdentity&) override {}
  void OnLost(PeerId, const Status&) override {}
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    bytes_.resize(header.length);
    return bytes_;
  }
  void OnPayloadDone(PeerId peer, const Header& header, bool) override {
    if (header.kind != FrameKind::kControl) return;
    const auto control = DecodeControl(bytes_);
    const wire::ProbeT* asked = control.ok() ? control->body.AsProbe() : nullptr;
    wire::ProbeT answer;
    answer.id = asked != nullptr ? asked->id : 0;
    answer.answer = true;
    ++answers_;
    answer.received = (backwards_ ? 1000 - answers_ : answers_) * kProbeSliceBytes;
    answer.received_ns = backwards_ ? answers_ : 1;
    SendControl(transport_, peer, Header(), answer);
    if (asked == nullptr || !asked->stream) return;
    Header slice;
    slice.kind = FrameKind::kProbe;
    const BytesView piece(slice_);
    transport_.Send(peer, slice, {&piece, 1}, Priority::kBulk, nullptr);
  }

  Transport& transport_;
  const bool backwards_;
  const Bytes slice_ = Bytes(kProbeSliceBytes);
  Bytes bytes_;
  uint64_t answers_ = 0;
};

TEST(LinkProber, AServerThatTellsWhatCannotBeIsNotBelieved) {
  for (const bool backwards : {false, true}) {
    VirtualLoop world;
    NodeLoop host_loop(world), loop(world);
    SimNetwork network(1);
    const auto host_transport = network.MakeTransport(host_loop);
    ASSERT_TRUE(host_transport->Listen("server:1").ok());
    const StrangeHost host(*host_transport, backwards);
    const auto transport = network.MakeTransport(
        loop, {.latency = milliseconds(1), .bytes_per_second = 1e8, .back = std::nullopt});
    LinkProber prober(loop, *transport, {.server = "server:1", .token = kToken, .seconds = 1});
    std::optional<Result<LinkProbe>> result;
    prober.Start([&](const Result<LinkProbe>& probe) { result = probe; });
    const Time limit = world.Now() + std::chrono::minutes(5);
    world.RunUntil([&] { return result.has_value() || world.Now() > limit; });
    ASSERT_TRUE(result) << backwards;
    EXPECT_EQ(result->code(), StatusCode::kDataError) << backwards;
    transport->Close();
    host_transport->Close();
  }
}

// Connections that send nothing.
struct Silent final : Receiver {
  explicit Silent(InprocNetwork& network) : transport(network.MakeTransport()) {
    transport->SetReceiver(this);
  }
  ~Silent() override { transport->Close(); }
  void OnConnected(PeerId, const PeerIdentity&) override { ++up; }
  std::span<std::byte> OnPayload(PeerId, const Header&) override { return {}; }
  void OnPayloadDone(PeerId, const Header&, bool) override {}
  void OnLost(PeerId, const Status&) override { ++lost; }

  std::unique_ptr<Transport> transport;
  int up = 0;
  int lost = 0;
};

TEST(ProbeHost, SilentConnectionsHaveTenSecondsAndKeepNobodyOut) {
  VirtualLoop loop;
  InprocNetwork network(loop);
  const auto host_transport = network.MakeTransport();
  ASSERT_TRUE(host_transport->Listen("server:1").ok());
  {
    int joined = 0;
    const ProbeHost host(loop, *host_transport, kToken, [&] { ++joined; });
    Silent silent(network);
    const auto pass = [&](Duration time) {
      const Time end = loop.Now() + time;
      loop.After(time, [] {});
      loop.RunUntil([&] { return loop.Now() >= end; });
    };
    for (int i = 0; i < 1100; ++i) silent.transport->Connect("server:1");
    pass(milliseconds(1));
    EXPECT_EQ(silent.up, 1100);
    EXPECT_GE(silent.lost, 1000) << "the oldest go when there are many";
    wire::ProbeJoinT join;
    join.protocol = kProtocolVersion;
    join.token = kToken;
    SendControl(*silent.transport, silent.transport->Connect("server:1"), Header(), join);
    pass(milliseconds(1));
    EXPECT_EQ(joined, 1);
    pass(std::chrono::seconds(11));
    EXPECT_EQ(silent.lost, 1100) << "the one that joined is still there";
  }
  host_transport->Close();
}

TEST_F(SimLinkTest, NobodyThereIsSaid) {
  VirtualLoop loop;
  InprocNetwork network(loop);
  const auto transport = network.MakeTransport();
  LinkProber prober(loop, *transport, {.server = "nobody", .token = kToken});
  std::optional<Result<LinkProbe>> result;
  prober.Start([&](const Result<LinkProbe>& probe) { result = probe; });
  loop.RunUntil([&] { return result.has_value(); });
  ASSERT_TRUE(result);
  EXPECT_EQ(result->code(), StatusCode::kUnavailable);
  transport->Close();
}

TEST(JobLink, AJobIsNotMeasuredByStrangers) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  const auto transport = world.network.MakeTransport();
  LinkProber prober(world.loop, *transport, {.server = "server", .token = "guessed"});
  std::optional<Result<LinkProbe>> result;
  prober.Start([&](const Result<LinkProbe>& probe) { result = probe; });
  ASSERT_TRUE(world.RunUntil([&] { return result.has_value(); }));
  EXPECT_EQ(result->code(), StatusCode::kPermission) << result->status().ToString();
  world.StartWorkers();
  EXPECT_TRUE(world.Run().status.ok());
  transport->Close();
}

}  // namespace
}  // namespace motley
