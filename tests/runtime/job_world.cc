// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/job_world.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "coding/kernels/sketch.h"
#include "runtime/links/slicing.h"
#include "tests/runtime/cut_transport.h"
#include "tests/training/reference.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

constexpr char kAddress[] = "server";
// A sample takes this long at speed 1.
constexpr Duration kSampleTime = std::chrono::microseconds(100);
constexpr double kSpeeds[] = {1, 2, 0.5, 1, 4};

std::unique_ptr<Device> InlineDevice(Loop& loop) {
  auto device = MakeInlineDevice(loop);
  EXPECT_TRUE(device.ok()) << device.status().ToString();
  return std::move(device).value();
}

}  // namespace

JobWorld::JobWorld(JobOptions job, size_t samples)
    : options(std::move(job)),
      network(loop),
      data(MakeSamples(options.model.features, options.model.classes, false, samples, 11)),
      server_device(InlineDevice(loop)),
      server_transport(std::make_unique<CutTransport>(network.MakeTransport())) {
  EXPECT_TRUE(server_transport->Listen(kAddress).ok());
  options.return_timeout = std::chrono::seconds(30);
}

JobOptions JobWorld::Options(uint32_t workers, const std::string& code) {
  JobOptions options;
  options.model = {"softmax", 7, 4};
  options.workers = workers;
  options.code = code;
  options.tolerate = code == "none" ? 0 : 1;
  options.parts = workers > 2 ? 2 : 1;
  options.batch = 100;
  options.steps = 12;
  options.job_id = 4711;
  options.token = kToken;
  options.slice_length = 6;
  options.audit_fraction = 1;
  return options;
}

void JobWorld::StartServer() {
  auto made = ServerNode::Create(
      {loop, *server_transport, *server_device, disk, audit_device, evaluation_device}, options,
      *job_source, &watcher);
  ASSERT_TRUE(made.ok()) << made.status().ToString();
  server = std::move(made).value();
  server->Start([this](JobResult end) {
    ASSERT_FALSE(result) << "finished twice";
    result = std::move(end);
  });
}

WorkerBox& JobWorld::StartWorker(int32_t hint, double speed, const std::string& token,
                                 const std::string& name) {
  workers.push_back(std::make_unique<WorkerBox>());
  WorkerBox& box = *workers.back();
  box.inner = InlineDevice(loop);
  box.device = MakePacedDevice(loop, *box.inner, {kSampleTime, speed});
  box.transport = network.MakeTransport();
  if (wrap) box.transport = wrap(std::move(box.transport));
  WorkerOptions worker;
  worker.server = kAddress;
  worker.token = token;
  worker.name = name.empty() ? "box-" + std::to_string(workers.size() - 1) : name;
  worker.index_hint = hint;
  worker.incarnation = 1000 + workers.size();
  worker.foreign = brought;
  worker.wait = worker_wait;
  worker.forever = worker_forever;
  worker.holds_only = worker_holds_only;
  worker.listen = worker.name + ":1";  // Names of processes that start again differ.
  worker.tell = [&box](const std::string& text) { box.said.push_back(text); };
  box.node = WorkerNode::Create({loop, *box.transport, *box.device}, worker);
  box.node->Start([&box](const Status& status) {
    ASSERT_FALSE(box.ended) << "finished twice";
    box.ended = status;
  });
  return box;
}

WorkerBox& JobWorld::StartShardServer(const std::string& token) {
  worker_holds_only = true;
  WorkerBox& box = StartWorker(-1, 1, token);
  worker_holds_only = false;
  return box;
}

void JobWorld::StartWorkers() {
  for (uint32_t i = 0; i < options.workers; ++i) {
    StartWorker(static_cast<int32_t>(i), kSpeeds[i % std::size(kSpeeds)]);
  }
}

void JobWorld::Kill(WorkerBox& worker) {
  // Posted, because this may be inside a callback of the transport or the node.
  loop.Post([&worker] {
    worker.node.reset();
    worker.transport->Close();
  });
}

void JobWorld::CutAll() { static_cast<CutTransport&>(*server_transport).CutAll(); }

bool JobWorld::RunUntil(const std::function<bool()>& done) {
  const Time limit = loop.Now() + std::chrono::minutes(10);
  bool happened = false;
  loop.RunUntil([&] {
    happened = done();
    return happened || loop.Now() > limit;
  });
  return happened;
}

const JobResult& JobWorld::Run() {
  static const JobResult kNone{.status = Status::Internal("the job did not finish")};
  EXPECT_TRUE(RunUntil([this] { return result.has_value(); }))
      << "at " << ToSeconds(loop.Now()) << " s, pending " << loop.pending() << ", applied "
      << watcher.applied;
  return result ? *result : kNone;
}

std::vector<double> JobWorld::SerialParameters() const {
  const uint32_t partitions = PartitionCount(data.rows(), options.workers).value();
  const BatchSchedule schedule(options.seed, PartitionSizes(data.rows(), partitions),
                               options.batch);
  const auto model = MakeModel(options.model);
  std::vector<float> first(model->parameter_count());
  model->Initialize(options.seed, first);
  return reference::Train(options.model, options.optimizer, schedule, data, options.steps,
                          {first.begin(), first.end()});
}

void JobWorld::ExpectSerial(double difference) {
  const JobResult& end = Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, options.steps);
  EXPECT_EQ(end.audited_steps, options.steps);
  EXPECT_LE(end.max_decode_error, 1e-5);
  for (const AuditWarning& warning : end.audit.warnings) {
    ADD_FAILURE() << "an audit of step " << warning.step << " warned of " << warning.name;
  }
  EXPECT_LE(end.audit.max_difference, 1e-6);
  const std::vector<double> serial = SerialParameters();
  ASSERT_EQ(end.parameters->size(), serial.size());
  for (size_t i = 0; i < serial.size(); ++i) {
    ASSERT_NEAR(end.parameters->at(i), serial[i], difference) << i;
  }
}

double JobWorld::Loss(std::span<const float> parameters) const {
  const std::vector<double> values(parameters.begin(), parameters.end());
  return reference::LossAndGradient(options.model, values, data, {}) /
         static_cast<double>(data.rows());
}

FakeWorker::FakeWorker(JobWorld& world, Incarnation incarnation)
    : transport_(world.network.MakeTransport()), incarnation_(incarnation) {
  transport_->SetReceiver(this);
  peer_ = transport_->Connect(kAddress);
}

FakeWorker::~FakeWorker() {
  transport_->SetReceiver(nullptr);
  transport_->Close();
}

Header FakeWorker::OwnHeader() const {
  Header header;
  header.job = accept ? accept->job : 0;
  header.incarnation = incarnation_;
  return header;
}

void FakeWorker::Deliver(Header header, std::shared_ptr<Bytes> bytes, Priority priority) {
  const BytesView piece(*bytes);
  transport_->Send(peer_, header, std::span<const BytesView>(&piece, 1), priority,
                   [bytes](const Status&) {});
}

void FakeWorker::Join(int32_t hint, const std::string& token) {
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = token;
  join.name = "fake";
  join.index_hint = hint;
  join.incarnation = incarnation_;
  Say(std::move(join));
}

void FakeWorker::JoinAs(uint64_t node, bool beats) {
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = kToken;
  join.incarnation = incarnation_;
  join.node = node;
  join.beats = beats;
  Say(std::move(join));
}

void FakeWorker::Introduce(double samples_per_second) {
  wire::ReadyT ready;
  ready.samples_per_second = samples_per_second;
  Say(std::move(ready));
}

void FakeWorker::Answer(const wire::OrderT& order, size_t length, float value,
                        const std::function<void(Header&)>& change) {
  const std::vector<float> values(length, value);
  Header header = OwnHeader();
  header.kind = FrameKind::kGradient;
  header.step = order.step;
  header.version = order.version;
  header.row_id = order.order;
  header.total = length;
  const BatchSchedule schedule(accept->seed, accept->partition_sizes, accept->batch);
  for (const wire::Term& term : order.terms) {
    for (PartitionId p = term.begin(); p < term.end(); ++p) {
      header.tally.weight += term.re() * schedule.Ranges(order.step)[p].count;
    }
  }
  for (size_t begin = 0; begin < length; begin += accept->slice_length) {
    header.offset = begin;
    const size_t count = std::min<size_t>(accept->slice_length, length - begin);
    const std::span<const float> slice(values.data() + begin, count);
    const BytesView bytes = AsBytes(slice);
    const Sketch sketch = SketchOf(slice, SignsOf(header));
    header.norm = std::sqrt(sketch.squares);
    header.sketch = sketch.projection;
    Header changed = header;
    if (change) change(changed);
    Deliver(changed, std::make_shared<Bytes>(bytes.begin(), bytes.end()), Priority::kBulk);
  }
}

void FakeWorker::Finish(const wire::OrderT& order) {
  wire::AnswerEndT end;
  end.step = order.step;
  end.order = order.order;
  end.finished = true;
  end.samples = 10;
  end.compute_ns = 1'000'000;
  Say(std::move(end));
}

std::span<std::byte> FakeWorker::OnPayload(PeerId, const Header& header) {
  if (header.kind != FrameKind::kControl) return {};
  control_.resize(header.length);
  return control_;
}

void FakeWorker::OnPayloadDone(PeerId, const Header& header, bool) {
  if (header.kind != FrameKind::kControl) return;
  auto control = DecodeControl(control_);
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  if (on_control) on_control(*control);
  if (const auto* welcome = control->body.AsAccept()) accept = *welcome;
  if (const auto* error = control->body.AsError()) errors.push_back(*error);
  if (const auto* goodbye = control->body.AsLeave()) leave = *goodbye;
  if (const auto* order = control->body.AsOrder()) {
    assigned.push_back(*order);
    if (on_order) on_order(assigned.back());
  }
}

void ExpectSerialParameters(const JobWorld& world, const JobResult& end) {
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  EXPECT_EQ(end.steps, world.options.steps);
  const std::vector<double> serial = world.SerialParameters();
  ASSERT_EQ(end.parameters->size(), serial.size());
  for (size_t i = 0; i < serial.size(); ++i) {
    ASSERT_NEAR(end.parameters->at(i), serial[i], 2e-5) << i;
  }
}

}  // namespace motley
