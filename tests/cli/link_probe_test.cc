// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/link_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <vector>

#include "fmt/core.h"

namespace motley {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Listens, and never sends a message.
class SilentPort {
 public:
  SilentPort() {
    listening_ = socket(AF_INET, SOCK_STREAM, 0);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(bind(listening_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(listen(listening_, 0), 0);
    EXPECT_EQ(getsockname(listening_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  ~SilentPort() {
    for (const int client : clients_) close(client);
    close(listening_);
  }

  std::string address() const { return fmt::format("127.0.0.1:{}", ntohs(address_.sin_port)); }
  // From now on no connection succeeds.
  void Fill() {
    for (int i = 0; i < 8; ++i) {
      clients_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      // Connections without a place in the queue wait.
      (void)connect(clients_.back(), reinterpret_cast<const sockaddr*>(&address_),
                    sizeof(address_));
    }
  }

 private:
  int listening_ = -1;
  sockaddr_in address_{};
  std::vector<int> clients_;
};

class LinkProbeTest : public ::testing::Test {
 protected:
  LinkProbeTest() { std::signal(SIGPIPE, SIG_IGN); }
  static Status Failure(const std::string& address) {
    return ProbeLink({.server = address, .seconds = 0.05, .patience = milliseconds(100)}).status();
  }
};

TEST_F(LinkProbeTest, MeasuresBothWays) {
  const Result<LinkProbe> probe = ProbeLocalLink(0.2);
  ASSERT_TRUE(probe.ok()) << probe.status().ToString();
  EXPECT_GT(probe->idle_latency_seconds, 0);
  EXPECT_GT(probe->link.latency_seconds, 0);
  EXPECT_GT(probe->link.Up().bytes_per_second, 0);
  EXPECT_GT(probe->link.Down().bytes_per_second, 0);
}

TEST_F(LinkProbeTest, AConnectionThatNeverComesUpIsAnErrorInTime) {
  SilentPort port;
  port.Fill();
  const Status status = Failure(port.address());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              HasSubstr("no motley server answered at " + port.address() + " within 0.1 s"));
}

TEST_F(LinkProbeTest, SilenceIsAnErrorAndNotALatencyOfNothing) {
  const SilentPort port;
  const Status status = Failure(port.address());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              HasSubstr("no motley server answered at " + port.address() + " within 0.1 s"));
}

}  // namespace
}  // namespace motley
