// SPDX-License-Identifier: Apache-2.0
#include "transport/inproc_transport.h"

#include "base/loop/virtual_loop.h"
#include "tests/conformance/transport_suite.h"

namespace motley {
namespace {

class InprocWorld final : public TransportWorld {
 public:
  std::unique_ptr<Transport> MakeTransport() override { return network_.MakeTransport(); }
  std::string ListenAddress() override { return "inproc:" + std::to_string(next_++); }
  std::string DeadAddress() override { return "inproc:nobody"; }
  bool RunUntil(const std::function<bool()>& done) override {
    return done() || loop_.RunUntil(done);
  }

 private:
  VirtualLoop loop_;
  InprocNetwork network_{loop_};
  int next_ = 1;
};

INSTANTIATE_TEST_SUITE_P(Inproc, TransportSuite,
                         testing::Values(TransportCase{
                             "Inproc", [] { return std::make_unique<InprocWorld>(); }}),
                         TransportCaseName);

TEST(InprocTransport, TasksOutliveTheTransportsTheyAreFor) {
  VirtualLoop loop;
  InprocNetwork network(loop);
  auto server = network.MakeTransport();
  ASSERT_TRUE(server->Listen("a").ok());
  auto client = network.MakeTransport();
  const PeerId peer = client->Connect("a");
  int done = 0;
  client->Send(peer, {}, {}, Priority::kBulk, [&](Status) { ++done; });
  client->Send(peer + 1, {}, {}, Priority::kBulk, [&](Status) { ++done; });
  client.reset();
  server.reset();
  EXPECT_EQ(done, 2);
  while (loop.RunOne()) continue;
}

}  // namespace
}  // namespace motley
