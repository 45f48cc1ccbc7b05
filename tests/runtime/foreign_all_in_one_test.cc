// SPDX-License-Identifier: Apache-2.0
// A server and its workers in one process on one real loop. Each worker has a device of its own, so
// their trainers are called at the same time from different threads.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "data/index_source.h"
#include "devices/cpu/cpu_device.h"
#include "runtime/coordinator/server_node.h"
#include "runtime/uv_loop.h"
#include "runtime/worker/work_order.h"
#include "runtime/worker/worker_node.h"
#include "tests/devices/thread_loop.h"
#include "training/trainers/callback_trainer.h"
#include "transport/inproc_transport.h"

namespace motley {
namespace {

constexpr uint64_t kSamples = 4000;
constexpr size_t kParameters = 1000;

// The target of a parameter for one sample; the parameter goes to the mean of these.
float WantOf(uint64_t sample, size_t parameter) {
  return static_cast<float>((sample + parameter) % 5);
}

Status AddWants(const ForeignWork& work) {
  for (size_t n = 0; n < work.samples.size(); ++n) {
    if (work.cancelled) return Status::Cancelled("asked to stop");
    for (size_t i = 0; i < kParameters; ++i) {
      const double gap = work.parameters[i] - WantOf(work.samples[n], i);
      work.sum[i] += static_cast<float>(work.coefficient * gap);
      *work.loss += work.coefficient * gap * gap / 2;
    }
    work.progress(n + 1);
  }
  return Status::Ok();
}

std::unique_ptr<Device> OwnDevice(Loop& loop) {
  auto device = MakeCpuDevice(loop, {.threads = 1});
  EXPECT_TRUE(device.ok()) << device.status().ToString();
  return std::move(device).value();
}

struct Seat {
  std::unique_ptr<Device> device;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<WorkerNode> node;
  std::optional<Status> ended;
};

class AllInOne : public testing::Test {
 protected:
  AllInOne() {
    options_.workers = 4;
    options_.code = "cyclic";
    options_.batch = 400;
    options_.steps = 60;
    options_.optimizer.learning_rate = 0.2;
    options_.job_id = 1;
    options_.token = "secret";
    auto trainer = std::make_shared<ForeignTrainer>();
    trainer->parameter_count = kParameters;
    trainer->accumulate = [this](const ForeignWork& work) {
      if (on_work_) on_work_();
      return AddWants(work);
    };
    options_.foreign = trainer;
  }

  void Run() {
    server_device_ = OwnDevice(*loop_);
    server_transport_ = network_.MakeTransport();
    ASSERT_TRUE(server_transport_->Listen("here").ok());
    auto made = ServerNode::Create({*loop_, *server_transport_, *server_device_}, options_, source_,
                                   nullptr);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    server_ = std::move(made).value();
    server_->Start([this](JobResult result) {
      result_ = std::move(result);
      StopWhenAllEnded();
    });
    seats_.resize(options_.workers);
    for (size_t i = 0; i < seats_.size(); ++i) StartWorker(seats_[i], i);
    loop_->Run();
    server_.reset();
    seats_.clear();
  }

  void StartWorker(Seat& seat, size_t index) {
    seat.device = OwnDevice(*loop_);
    seat.transport = network_.MakeTransport();
    WorkerOptions worker;
    worker.server = "here";
    worker.token = "secret";
    worker.index_hint = static_cast<int32_t>(index);
    worker.incarnation = index + 1;
    worker.foreign = options_.foreign;
    seat.node = WorkerNode::Create({*loop_, *seat.transport, *seat.device}, worker);
    seat.node->Start([this, &seat](const Status& status) {
      seat.ended = status;
      fine_ += status.ok();
      StopWhenAllEnded();
    });
  }

  void StopWhenAllEnded() {
    for (const Seat& seat : seats_) {
      if (!seat.ended) return;
    }
    if (result_) loop_->Stop();
  }

  std::unique_ptr<UvLoop> loop_ = UvLoop::Create().value();
  InprocNetwork network_{*loop_};
  JobOptions options_;
  const IndexSource source_{kSamples};
  std::function<void()> on_work_;
  std::unique_ptr<Device> server_device_;
  std::unique_ptr<Transport> server_transport_;
  std::unique_ptr<ServerNode> server_;
  std::vector<Seat> seats_;
  std::optional<JobResult> result_;
  size_t fine_ = 0;
};

TEST_F(AllInOne, TrainsAndEndsTidily) {
  Run();
  ASSERT_TRUE(result_);
  ASSERT_TRUE(result_->status.ok()) << result_->status.ToString();
  EXPECT_EQ(result_->steps, options_.steps);
  EXPECT_EQ(fine_, 4u);
  EXPECT_GE(result_->audited_steps, 1u);
  EXPECT_LT(result_->max_decode_error, 1e-4);
  ASSERT_EQ(result_->parameters->size(), kParameters);
  for (const float value : *result_->parameters) EXPECT_NEAR(value, 2.0, 0.1);
}

TEST_F(AllInOne, StopsFromAnotherThreadInTheMiddleOfWork) {
  options_.steps = 1'000'000;
  std::promise<void> begun;
  std::atomic<bool> told = false;
  on_work_ = [&] {
    if (!told.exchange(true)) begun.set_value();
  };
  std::thread stopper([&] {
    begun.get_future().wait();
    loop_->Post([this] { server_->Stop("asked to"); });
  });
  Run();
  stopper.join();
  ASSERT_TRUE(result_);
  EXPECT_EQ(result_->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(fine_, 4u);
}

// A long call reports its progress before it is done.
TEST(ForeignRow, ShowsProgressInsideACall) {
  ThreadLoop loop;
  const std::unique_ptr<Device> device = OwnDevice(loop);
  std::promise<void> seen;
  auto trainer = std::make_shared<ForeignTrainer>();
  trainer->parameter_count = 1;
  trainer->accumulate = [&](const ForeignWork& work) {
    work.progress(7);
    seen.get_future().wait();
    return Status::Ok();
  };
  wire::AcceptT accept;
  accept.foreign = true;
  accept.parameter_count = 1;
  accept.batch = 20;
  accept.slice_length = 2;
  accept.partition_sizes = {20};
  const auto shop = MakeWorkshop(loop, *device, accept, trainer).value();
  shop->store[0] = std::make_shared<MemorySource>(Dataset());
  const auto order =
      std::make_shared<WorkOrder>(loop, shop, WorkOrder::What{.order = 1, .terms = {{0, 1, 1.0}}});
  std::vector<uint64_t> told;
  std::optional<Status> ended;
  order->SetParameters(HostVector::Make("parameters", 1).value(), 0);
  order->Compute(HostVector::Make("a sum", VectorLength(1)).value(),
                 {[&] {
                    told.push_back(order->state().in_chunk);
                    EXPECT_EQ(order->state().samples, 0u) << "none is done";
                    seen.set_value();
                  },
                  nullptr, [&](Status status) { ended = std::move(status); }});
  loop.RunUntil([&] { return ended.has_value(); });
  EXPECT_TRUE(ended->ok()) << ended->ToString();
  EXPECT_EQ(told, std::vector<uint64_t>{7});
  EXPECT_EQ(order->state().samples, 20u);
  EXPECT_TRUE(order->finished());
}

}  // namespace
}  // namespace motley
