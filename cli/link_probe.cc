// SPDX-License-Identifier: Apache-2.0
#include "cli/link_probe.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "runtime/uv_loop.h"
#include "transport/tcp_transport.h"

namespace motley {
namespace {

constexpr size_t kSliceBytes = size_t{1} << 20;  // As those of answers and parameters.
constexpr int kSlicesUnderWay = 2;
constexpr Duration kPingEvery = std::chrono::milliseconds(2);
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr double kIdlePart = 0.2;  // Of the time: pings alone.
constexpr double kWarmPart = 0.2;  // Bulk that does not count.

// One end: answers pings, and streams as long as it is told to. Its loop's thread, but for
// received_bytes.
class ProbeEnd final : public Receiver {
 public:
  explicit ProbeEnd(UvLoop& loop)
      : loop_(loop),
        slice_(kSliceBytes),
        sink_(kSliceBytes),
        transport_(MakeTcpTransport(loop.handle())) {
    transport_->SetReceiver(this);
  }

  Transport& transport() { return *transport_; }
  const Status& lost() const { return lost_; }
  bool up() const { return peer_ != 0; }
  uint64_t received_bytes() const { return received_bytes_.load(std::memory_order_relaxed); }

  // The accepting end answers, and streams back as soon as anything comes.
  void Serve() { serves_ = true; }
  void Stream() {
    streams_ = true;
    for (int i = 0; i < kSlicesUnderWay; ++i) SendSlice();
  }
  void Stop() { streams_ = false; }
  void Ping() {
    pinged_ = loop_.Now();
    SendControl();
  }
  bool waits() const { return pinged_ != Time(); }
  bool answered() const { return !round_trips_.empty(); }
  std::vector<double> TakeRoundTrips() { return std::exchange(round_trips_, {}); }

  void OnConnected(PeerId peer) override {
    peer_ = peer;
    if (!serves_) loop_.Stop();
  }
  std::span<std::byte> OnPayload(PeerId, const Header& header) override {
    return std::span(sink_).first(std::min<size_t>(header.length, sink_.size()));
  }
  void OnPayloadDone(PeerId, const Header& header, bool) override {
    if (header.kind == FrameKind::kControl) return serves_ ? SendControl() : OnPong();
    received_bytes_.fetch_add(header.length, std::memory_order_relaxed);
    if (serves_ && !streams_) Stream();
  }
  void OnLost(PeerId, const Status& why) override {
    lost_ = why;
    streams_ = false;
    loop_.Stop();
  }

 private:
  void OnPong() {
    round_trips_.push_back(ToSeconds(loop_.Now() - pinged_));
    pinged_ = Time();
  }
  void SendControl() {
    transport_->Send(peer_, Header{}, {}, Priority::kControl, [](const Status&) {});
  }
  void SendSlice() {
    Header header;
    header.kind = FrameKind::kGradient;
    const BytesView piece = slice_;
    transport_->Send(peer_, header, {&piece, 1}, Priority::kBulk, [this](const Status& status) {
      if (status.ok() && streams_) SendSlice();
    });
  }

  UvLoop& loop_;
  const Bytes slice_;
  Bytes sink_;
  PeerId peer_ = 0;
  bool serves_ = false;
  bool streams_ = false;
  Time pinged_{};
  std::vector<double> round_trips_;
  std::atomic<uint64_t> received_bytes_{0};
  Status lost_;
  std::unique_ptr<Transport> transport_;  // Goes first: it uses all of the above until then.
};

// The accepting end in a thread of its own.
class ProbeServer {
 public:
  ProbeServer() : thread_([this] { Run(); }) {}
  ~ProbeServer() {
    if (started_.get_future().get()) loop_->Post([this] { loop_->Stop(); });
    thread_.join();
  }

  Result<std::string> Address() { return address_.get_future().get(); }
  uint64_t received_bytes() const { return end_->received_bytes(); }

 private:
  void Run() {
    auto loop = UvLoop::Create();
    if (!loop.ok()) return Fail(loop.status());
    loop_ = std::move(*loop);
    end_ = std::make_unique<ProbeEnd>(*loop_);
    end_->Serve();
    const auto address = end_->transport().Listen("127.0.0.1:0");
    if (!address.ok()) return Fail(address.status());
    address_.set_value(*address);
    started_.set_value(true);
    loop_->Run();
    // What was posted to end a loop that a lost peer has ended already is dropped with it.
    end_->transport().Close();
  }
  void Fail(const Status& status) {
    address_.set_value(status);
    started_.set_value(false);
  }

  std::unique_ptr<UvLoop> loop_;
  std::unique_ptr<ProbeEnd> end_;
  std::promise<Result<std::string>> address_;
  std::promise<bool> started_;
  std::thread thread_;
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Pings for so long while whatever streams goes on, longer where nothing came back yet; the median
// of one way.
Result<double> Latency(UvLoop& loop, ProbeEnd& end, double seconds, Duration patience) {
  bool over = false;
  const std::function<void()> ping = [&] {
    if (over) return;
    if (!end.waits()) end.Ping();
    loop.After(kPingEvery, ping);
  };
  loop.Post(ping);
  const Time latest = loop.Now() + std::max(patience, FromSeconds(seconds));
  const std::function<void()> enough = [&] {
    if (over) return;
    if (end.answered() || loop.Now() >= latest) return loop.Stop();
    loop.After(kPingEvery, enough);
  };
  const TimerId first = loop.After(FromSeconds(seconds), enough);
  loop.Run();
  over = true;
  loop.Cancel(first);
  // The last timers still refer to what is here.
  loop.After(2 * kPingEvery, [&] { loop.Stop(); });
  loop.Run();
  MOTLEY_RETURN_IF_ERROR(end.lost());
  if (end.answered()) return Median(end.TakeRoundTrips()) / 2;
  return Status::Unavailable(
      fmt::format("no message came back within {:.3g} s", ToSeconds(patience)));
}

Status Connect(UvLoop& loop, ProbeEnd& end, const std::string& address, Duration patience) {
  end.transport().Connect(address);
  const TimerId enough = loop.After(patience, [&] { loop.Stop(); });
  loop.Run();
  loop.Cancel(enough);
  MOTLEY_RETURN_IF_ERROR(end.lost());
  if (end.up()) return Status::Ok();
  return Status::Unavailable(
      fmt::format("no connection to {} within {:.3g} s. Does a firewall keep "
                  "this machine from connections to itself?",
                  address, ToSeconds(patience)));
}

}  // namespace

Result<LinkProbe> ProbeLocalLink(double seconds) {
  ProbeServer server;
  MOTLEY_ASSIGN_OR_RETURN(const std::string address, server.Address());
  return ProbeLink(
      address, [&] { return server.received_bytes(); }, seconds, kPatience);
}

Result<LinkProbe> ProbeLink(const std::string& address, const std::function<uint64_t()>& received,
                            double seconds, Duration patience) {
  MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<UvLoop> loop, UvLoop::Create());
  ProbeEnd end(*loop);
  MOTLEY_RETURN_IF_ERROR(Connect(*loop, end, address, patience));
  LinkProbe probe;
  MOTLEY_ASSIGN_OR_RETURN(probe.idle_latency_seconds,
                          Latency(*loop, end, kIdlePart * seconds, patience));
  end.Stream();
  const auto warm = Latency(*loop, end, kWarmPart * seconds, patience);
  MOTLEY_RETURN_IF_ERROR(warm.status());
  const Time start = loop->Now();
  const uint64_t up = received(), down = end.received_bytes();
  MOTLEY_ASSIGN_OR_RETURN(probe.loaded.latency_seconds,
                          Latency(*loop, end, (1 - kIdlePart - kWarmPart) * seconds, patience));
  const double elapsed = ToSeconds(loop->Now() - start);
  probe.loaded.bytes_per_second = static_cast<double>(received() - up) / elapsed;
  probe.loaded.down = LinkDirection{probe.loaded.latency_seconds,
                                    static_cast<double>(end.received_bytes() - down) / elapsed};
  end.Stop();
  end.transport().Close();
  return probe;
}

}  // namespace motley
