// SPDX-License-Identifier: Apache-2.0
// Transports over real sockets of this machine, on one libuv loop.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/conformance/transport_suite.h"
#include "tests/transport/uv_test_loop.h"
#include "transport/channel/stream_transport.h"
#include "transport/stream/tcp_address.h"

namespace motley {

// A blocking socket of the test, without a transport.
class RawSocket {
 public:
  RawSocket() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) { EXPECT_GE(fd_, 0); }
  ~RawSocket() { Close(); }
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  void Connect(const std::string& to) {
    const auto where = NumericAddress(ParseHostPort(to).value());
    ASSERT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&*where), sizeof(sockaddr_in)), 0);
  }
  // To be called before Connect: minimises the kernel's buffer for bytes that nobody reads.
  void KeepLittle() {
    const int bytes = 4096;
    ASSERT_EQ(setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
  }
  // Takes a free port of 127.0.0.1 without listening, so that connections are refused.
  void Bind() {
    sockaddr_in any{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    ASSERT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&any), sizeof(any)), 0);
  }
  std::string address() const {
    sockaddr_storage own{};
    socklen_t length = sizeof(own);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &length), 0);
    return FormatAddress(own);
  }
  void Write(BytesView bytes) {
    ASSERT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Reads up to `room.size()` bytes; returns 0 when there are none.
  size_t Read(std::span<std::byte> room) {
    const ssize_t count = recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
    return count > 0 ? static_cast<size_t>(count) : 0;
  }
  void ShutdownWrites() { ASSERT_EQ(shutdown(fd_, SHUT_WR), 0); }
  void Reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ASSERT_EQ(setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    Close();
  }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

// Transports of one scheme.
class SocketWorld final : public TransportWorld {
 public:
  // `listen` is a TCP address, or "unix://".
  explicit SocketWorld(std::string listen = "tcp://127.0.0.1:0") : listen_(std::move(listen)) {
    dead_.Bind();
  }

  std::unique_ptr<Transport> MakeTransport() override { return MakeStreamTransport(loop_.get()); }
  std::string ListenAddress() override {
    return local() ? fmt::format("unix://{} {}", getpid(), ++names_) : listen_;
  }
  std::string DeadAddress() override { return local() ? "unix://nobody" : dead_.address(); }
  bool RunUntil(const std::function<bool()>& done) override { return loop_.RunUntil(done); }
  // Runs one turn of the loop without waiting.
  void Turn() { loop_.Turn(); }

 private:
  bool local() const { return listen_ == "unix://"; }

  const std::string listen_;
  UvTestLoop loop_;
  RawSocket dead_;
  int names_ = 0;
};

}  // namespace motley
