// SPDX-License-Identifier: Apache-2.0
// A job over real sockets, real threads and the real clock.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "devices/cpu/cpu_device.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/links/link_prober.h"
#include "runtime/uv_loop.h"
#include "runtime/worker/worker_node.h"
#include "tests/runtime/forwarding_transport.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "transport/channel/stream_transport.h"
#include "transport/stream/tcp_address.h"

namespace motley {
namespace {

std::unique_ptr<Device> MakeDevice(Loop& loop) {
  CpuDeviceOptions options;
  options.threads = 1;
  auto device = MakeCpuDevice(loop, options);
  EXPECT_TRUE(device.ok()) << device.status().ToString();
  return std::move(device).value();
}

// A node's own part of the world. The node is destroyed first.
template <typename Node>
struct Host {
  explicit Host(UvLoop& loop)
      : device(MakeDevice(loop)), transport(MakeStreamTransport(loop.handle())) {
    signal(SIGPIPE, SIG_IGN);
  }
  Env env(Loop& loop) { return {loop, *transport, *device}; }

  std::unique_ptr<Device> device;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Node> node;
  std::optional<Status> ended;
};

// Counts what arrives over a real transport.
class CountingTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  // Payload bytes of answers, by step and row.
  std::map<std::pair<StepId, uint32_t>, size_t> answers;
  size_t probes = 0;  // Frames that measure links.

 private:
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override {
    if (header.kind == FrameKind::kGradient) answers[{header.step, header.row_id}] += header.length;
    probes += header.kind == FrameKind::kProbe ? 1 : 0;
    receiver()->OnPayloadDone(peer, header, discarded);
  }
};

JobOptions TwoWorkers() {
  JobOptions options;
  options.model = {"mlp:16", 20, 3};
  options.workers = 2;
  options.code = "repetition";
  options.batch = 64;
  options.steps = 40;
  options.job_id = 1;
  options.token = "secret";
  options.slice_length = 64;
  return options;
}

class TcpJob : public testing::Test {
 protected:
  TcpJob() : loop(UvLoop::Create().value()), server(*loop) {}
  ~TcpJob() override {
    server.node.reset();
    server.transport->Close();
    for (const auto& worker : workers) {
      worker->node.reset();
      worker->transport->Close();
    }
    loop->Post([this] { loop->Stop(); });
    loop->Run();  // Closes the remaining handles.
  }

  void StartServer(const JobOptions& options, const DataSource& data,
                   JobObserver* observer = nullptr) {
    auto listening = server.transport->Listen("127.0.0.1:0");
    ASSERT_TRUE(listening.ok()) << listening.status().ToString();
    address = *listening;
    auto made = ServerNode::Create(server.env(*loop), options, data, observer);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    server.node = std::move(made).value();
    server.node->Start([this](JobResult end) {
      result = std::move(end);
      StopWhenAllEnded();
    });
  }
  void StartWorker(const std::string& token) {
    workers.push_back(std::make_unique<Host<WorkerNode>>(*loop));
    Host<WorkerNode>& host = *workers.back();
    WorkerOptions options;
    options.server = address;
    options.token = token;
    options.incarnation = workers.size();
    host.node = WorkerNode::Create(host.env(*loop), options);
    host.node->Start([this, &host](const Status& status) {
      host.ended = status;
      StopWhenAllEnded();
    });
  }
  void StopWhenAllEnded() {
    for (const auto& worker : workers) {
      if (!worker->ended) return;
    }
    if (result) loop->Stop();
  }

  std::unique_ptr<UvLoop> loop;
  Host<ServerNode> server;
  std::vector<std::unique_ptr<Host<WorkerNode>>> workers;
  std::string address;
  std::optional<JobResult> result;
};

// On a busy machine, less may arrive from a late worker, and more from the workers that help it.
class TcpJobInParts : public TcpJob, public testing::WithParamInterface<const char*> {};

TEST_P(TcpJobInParts, AnswersTakeThatPartOfTheBytes) {
  JobOptions options = TwoWorkers();
  options.code = GetParam();
  options.tolerate = 0;
  options.parts = 2;
  options.audit_fraction = 1;
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  auto counting = std::make_unique<CountingTransport>(std::move(server.transport));
  const CountingTransport& counted = *counting;
  server.transport = std::move(counting);
  StartServer(options, source);
  StartWorker("secret");
  StartWorker("secret");
  loop->Run();
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->status.ok()) << result->status.ToString();
  EXPECT_GE(result->audited_steps, 1u);  // No step waits for the audit of another.
  EXPECT_LT(result->max_decode_error, 1e-5);
  const size_t gradient = VectorLength(result->parameters->size()) * sizeof(float);
  const auto is_half = [&](const auto& answer) {
    return answer.second >= gradient / 2 && answer.second <= gradient / 2 + sizeof(float);
  };
  EXPECT_GE(std::count_if(counted.answers.begin(), counted.answers.end(), is_half), 20);
}

INSTANTIATE_TEST_SUITE_P(Codes, TcpJobInParts, testing::Values("short", "partial-coded"));

TEST_F(TcpJob, EqualsASerialLoop) {
  const JobOptions options = TwoWorkers();
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  StartServer(options, source);
  StartWorker("secret");
  StartWorker("wrong");
  StartWorker("secret");
  loop->Run();
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->status.ok()) << result->status.ToString();
  EXPECT_TRUE(workers[0]->ended->ok()) << workers[0]->ended->ToString();
  EXPECT_EQ(workers[1]->ended->code(), StatusCode::kPermission) << workers[1]->ended->ToString();
  EXPECT_TRUE(workers[2]->ended->ok()) << workers[2]->ended->ToString();
  EXPECT_EQ(result->steps, 40u);
  EXPECT_LT(result->max_decode_error, 1e-5);

  const BatchSchedule schedule(options.seed, PartitionSizes(500, PartitionCount(500, 2).value()),
                               options.batch);
  std::vector<float> first(result->parameters->size());
  MakeModel(options.model)->Initialize(options.seed, first);
  const std::vector<double> serial = reference::Train(options.model, options.optimizer, schedule,
                                                      data, 40, {first.begin(), first.end()});
  for (size_t i = 0; i < serial.size(); ++i) EXPECT_NEAR((*result->parameters)[i], serial[i], 1e-4);
}

// An answer may arrive in between, but some worker is certainly asked.
TEST_F(TcpJob, AskedForTheBeginningOfAVectorWorkersSendIt) {
  JobOptions options = TwoWorkers();
  options.code = "auto";
  options.tolerate = 0;
  options.audit_fraction = 1;
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  auto counting = std::make_unique<CountingTransport>(std::move(server.transport));
  const CountingTransport& counted = *counting;
  server.transport = std::move(counting);
  StartServer(options, source);
  StartWorker("secret");
  StartWorker("secret");
  loop->Run();
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->status.ok()) << result->status.ToString();
  EXPECT_LT(result->max_decode_error, 1e-5);
  EXPECT_GE(counted.probes, 1u);
  EXPECT_LE(counted.probes, 2u * 8 * 4) << "so often, and so many slices, at most";
}

// A peer joins with the token before the workers come, and measures. It takes no worker's place.
TEST_F(TcpJob, TheWayToTheServerIsMeasured) {
  const JobOptions options = TwoWorkers();
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  StartServer(options, source);
  const auto transport = MakeStreamTransport(loop->handle());
  std::optional<Result<LinkProbe>> probe;
  {
    LinkProber prober(*loop, *transport, {.server = address, .token = "secret", .seconds = 0.2});
    prober.Start([&](const Result<LinkProbe>& measured) {
      probe = measured;
      loop->Stop();
    });
    loop->Run();
  }
  transport->Close();
  ASSERT_TRUE(probe);
  ASSERT_TRUE(probe->ok()) << probe->status().ToString();
  EXPECT_GT((*probe)->link.latency_seconds, 0);
  EXPECT_GT((*probe)->link.Up().bytes_per_second, 1e6);
  EXPECT_GT((*probe)->link.Down().bytes_per_second, 1e6);
  StartWorker("secret");
  StartWorker("secret");
  loop->Run();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->status.ok()) << result->status.ToString();
  EXPECT_EQ(result->worker_names.size(), 2U);
}

TEST_F(TcpJob, APeerOfAnotherReleaseIsRefusedWithItsVersion) {
  struct Notices final : JobObserver {
    explicit Notices(UvLoop& the_loop) : loop(the_loop) {}
    void OnEvent(const JobEvent& event) override {
      const auto* noticed = std::get_if<event::Noticed>(&event);
      if (noticed == nullptr) return;
      if (const auto* refused = std::get_if<notice::JoinRefused>(&noticed->notice))
        why = refused->why;
      loop.Stop();
    }
    UvLoop& loop;
    Status why;
  } notices(*loop);
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  StartServer(TwoWorkers(), source, &notices);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto where = NumericAddress(ParseHostPort(address).value());
  ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&*where), sizeof(sockaddr_in)), 0);
  auto bytes = EncodeHeader(Header(), 0);
  bytes[sizeof(uint32_t)] = std::byte{99};  // The version follows the magic number.
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t{kHeaderSize});
  loop->Run();
  EXPECT_NE(notices.why.ToString().find("protocol version 99"), std::string::npos)
      << notices.why.ToString();
  close(fd);
}

// Port scanners and health checks may connect at any time.
TEST_F(TcpJob, StrangersWhoKeepConnectingDoNotHoldAFinishedJobOpen) {
  const JobOptions options = TwoWorkers();
  const Dataset data = MakeSamples(20, 3, false, 500, 3);
  const MemorySource source(data);
  StartServer(options, source);
  std::vector<int> strangers;
  TimerId next = 0;
  const std::function<void()> knock = [&] {
    if (result || strangers.size() >= 300) return loop->Stop();
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto where = NumericAddress(ParseHostPort(address).value());
    // The server may have stopped listening.
    (void)connect(fd, reinterpret_cast<const sockaddr*>(&*where), sizeof(sockaddr_in));
    strangers.push_back(fd);
    next = loop->After(std::chrono::milliseconds(100), knock);
  };
  knock();
  StartWorker("secret");
  StartWorker("secret");
  loop->Run();
  loop->Cancel(next);
  EXPECT_TRUE(result) << "still open after " << strangers.size() << " strangers";
  for (const int fd : strangers) close(fd);
}

}  // namespace
}  // namespace motley
