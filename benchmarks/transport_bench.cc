// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/transport_bench.h"

#include <cstring>
#include <memory>
#include <string>

#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "transport/tcp_transport.h"

namespace motley {
namespace {

constexpr size_t kMessage = size_t{1} << 20;

// Takes every payload into one buffer and stops the loop when all have come.
class Sink final : public Receiver {
 public:
  Sink(UvLoop& loop, size_t expected) : loop_(loop), expected_(expected), buffer_(kMessage) {}

  void OnConnected(PeerId peer) override {
    peer_ = peer;
    loop_.Stop();
  }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    return std::span(buffer_).first(header.length);
  }
  void OnPayloadDone(PeerId, const Header&, bool) override {
    if (++received_ == expected_) loop_.Stop();
  }
  void OnLost(PeerId, const Status& why) override {
    lost_ = why;
    loop_.Stop();
  }

  void Restart() { received_ = 0; }
  PeerId peer() const { return peer_; }
  size_t received() const { return received_; }
  const Status& lost() const { return lost_; }
  const Bytes& buffer() const { return buffer_; }

 private:
  UvLoop& loop_;
  size_t expected_;
  size_t received_ = 0;
  PeerId peer_ = 0;
  Status lost_;
  Bytes buffer_;
};

}  // namespace

Result<std::vector<BenchLine>> BenchTcp(const BenchOptions& options) {
  const size_t messages = options.full ? 256 : 16;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  Sink sink(*loop, messages);
  Sink source(*loop, 1);
  const auto receiving = MakeTcpTransport(loop->handle());
  const auto sending = MakeTcpTransport(loop->handle());
  receiving->SetReceiver(&sink);
  sending->SetReceiver(&source);
  MOTLEY_ASSIGN_OR_RETURN(const std::string address, receiving->Listen("127.0.0.1:0"));
  sending->Connect(address);
  while (source.lost().ok() && (source.peer() == 0 || sink.peer() == 0)) loop->Run();
  MOTLEY_RETURN_IF_ERROR(source.lost());

  Bytes payload(kMessage);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 31);
  const BytesView piece(payload);
  const auto send_all = [&] {
    sink.Restart();
    for (size_t i = 0; i < messages; ++i) {
      Header header;
      header.kind = FrameKind::kPartition;
      sending->Send(source.peer(), header, {&piece, 1}, Priority::kBulk, [](const Status&) {});
    }
    while (sink.received() < messages && sink.lost().ok()) loop->Run();
  };
  send_all();
  MOTLEY_RETURN_IF_ERROR(sink.lost());
  if (sink.buffer() != payload) return Status::Internal("what came is not what was sent");
  const double bytes = static_cast<double>(messages * kMessage);
  const double seconds = MedianSeconds(options, send_all);
  Bytes copy(kMessage);
  const double copy_seconds = MedianSeconds(options, [&] {
    for (size_t i = 0; i < messages; ++i) std::memcpy(copy.data(), payload.data(), kMessage);
  });
  sending->Close();
  receiving->Close();
  return std::vector<BenchLine>{{fmt::format("{} messages of 1 MiB, one thread", messages), "GB/s",
                                 bytes / seconds * 1e-9, "memcpy", bytes / copy_seconds * 1e-9}};
}

}  // namespace motley
