// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/transport_bench.h"

#include <algorithm>
#include <memory>
#include <string>

#include "benchmarks/cases/raw_pair.h"
#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "transport/channel/stream_transport.h"

namespace motley {
namespace {

constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kSmall = 64;

// Receives every payload into one buffer, and echoes or counts it.
class End final : public Receiver {
 public:
  explicit End(UvLoop& loop)
      : loop_(loop), transport_(MakeStreamTransport(loop.handle())), buffer_(kLarge) {
    transport_->SetReceiver(this);
  }

  void OnConnected(PeerId peer, const PeerIdentity&) override {
    peer_ = peer;
    loop_.Stop();
  }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    return std::span(buffer_).first(header.length);
  }
  void OnPayloadDone(PeerId, const Header&, bool) override {
    if (--expected_ == 0) loop_.Stop();
    if (echo_ && expected_ > 0) Send(buffer_, kSmall);
  }
  void OnLost(PeerId, const Status& why) override {
    lost_ = why;
    loop_.Stop();
  }

  void Send(BytesView from, size_t length) {
    Header header;
    header.kind = FrameKind::kPartition;
    const BytesView piece = from.first(length);
    transport_->Send(peer_, header, {&piece, 1}, Priority::kBulk, [](const Status&) {});
  }
  void Expect(size_t messages, bool echo) {
    expected_ = messages;
    echo_ = echo;
  }
  Transport& transport() { return *transport_; }
  bool up() const { return peer_ != 0; }
  bool done() const { return expected_ == 0; }
  const Status& lost() const { return lost_; }
  const Bytes& buffer() const { return buffer_; }

 private:
  UvLoop& loop_;
  std::unique_ptr<Transport> transport_;
  size_t expected_ = 0;
  bool echo_ = false;
  PeerId peer_ = 0;
  Status lost_;
  Bytes buffer_;
};

struct Pair {
  explicit Pair(UvLoop& on) : loop(on), from(on), to(on) {}
  Status Connect(const std::string& listen) {
    MOTLEY_ASSIGN_OR_RETURN(const std::string address, to.transport().Listen(listen));
    from.transport().Connect(address);
    while (from.lost().ok() && !(from.up() && to.up())) loop.Run();
    return from.lost();
  }
  void Stream(BytesView payload, size_t messages) {
    to.Expect(messages, false);
    for (size_t i = 0; i < messages; ++i) from.Send(payload, payload.size());
    while (!to.done() && to.lost().ok()) loop.Run();
  }
  void PingPong(BytesView payload, size_t rounds) {
    from.Expect(rounds, true);
    to.Expect(rounds + 1, true);  // One more than arrive, since the last is echoed, too.
    from.Send(payload, kSmall);
    while (!from.done() && from.lost().ok()) loop.Run();
  }

  UvLoop& loop;
  End from;
  End to;
};

// Alternates ours and theirs, so that both meet the same disturbances; the best of each.
template <typename Ours, typename Theirs>
std::pair<double, double> BestOfTurns(const BenchOptions& options, Ours ours, Theirs theirs) {
  std::pair<double, double> best{1e9, 1e9};
  const int turns = options.full ? 40 : 5;
  for (int i = 0; i < turns; ++i) {
    best.first = std::min(best.first, SecondsOf(ours));
    best.second = std::min(best.second, SecondsOf(theirs));
  }
  return best;
}

Result<std::vector<BenchLine>> Measure(const BenchOptions& options, const char* listen,
                                       const char* how) {
  const size_t messages = options.full ? 128 : 16;
  const size_t rounds = options.full ? 2000 : 200;
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  MOTLEY_ASSIGN_OR_RETURN(const auto raw, RawPair::Connect(loop->handle()));
  Pair pair(*loop);
  MOTLEY_RETURN_IF_ERROR(pair.Connect(listen));
  Bytes payload(kLarge);
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::byte>(i * 31 + i / 256);
  pair.Stream(payload, messages);
  raw->Stream(payload, messages);
  MOTLEY_RETURN_IF_ERROR(pair.to.lost());
  if (pair.to.buffer() != payload) return Status::Internal("what came is not what was sent");
  const double bytes = static_cast<double>(messages * kLarge);
  const auto [ours, theirs] = BestOfTurns(
      options, [&] { pair.Stream(payload, messages); }, [&] { raw->Stream(payload, messages); });
  const auto [our_rounds, their_rounds] = BestOfTurns(
      options, [&] { pair.PingPong(payload, rounds); },
      [&] { raw->PingPong(BytesView(payload).first(kSmall), rounds); });
  if (!std::equal(payload.begin(), payload.begin() + kSmall, pair.from.buffer().begin())) {
    return Status::Internal("what came back is not what was sent");
  }
  const double count = static_cast<double>(rounds);
  return std::vector<BenchLine>{
      {fmt::format("{}, 1 MiB messages, one thread", how), "GB/s", bytes / ours * 1e-9,
       "raw libuv pair, TCP", bytes / theirs * 1e-9},
      {fmt::format("{}, 64 bytes there and back", how), "us", our_rounds / count * 1e6,
       "raw libuv pair, TCP", their_rounds / count * 1e6}};
}

}  // namespace

Result<std::vector<BenchLine>> BenchTcp(const BenchOptions& options) {
  return Measure(options, "tcp://127.0.0.1:0", "TCP");
}

Result<std::vector<BenchLine>> BenchNearby(const BenchOptions& options) {
  return Measure(options, "127.0.0.1:0", "same machine");
}

}  // namespace motley
