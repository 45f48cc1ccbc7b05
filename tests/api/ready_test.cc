// SPDX-License-Identifier: Apache-2.0
// Ranges of a sum that leave while the rest is computed (motley_work_ready, motley_weighted_ready,
// motley_step_ready). A relay between worker and server counts the bytes that left.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/api/api_world.h"

namespace motley {
namespace {

using testing::HasSubstr;

constexpr uint64_t kParameters = 1 << 20;
constexpr uint64_t kHalf = kParameters / 2;
constexpr uint64_t kHalfBytes = kHalf * sizeof(float);

// Passes the bytes of one connection on, both ways.
class Relay {
 public:
  explicit Relay(const std::string& server) : target_(Loopback(Port(server))) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here = Loopback(0);
    socklen_t size = sizeof(here);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&here), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    thread_ = std::thread([this] { Run(); });
  }
  ~Relay() {
    thread_.join();
    close(listener_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // False: so many bytes have not left for the server within a minute.
  bool HasLeft(uint64_t bytes) const {
    for (int i = 0; i < 60'000 && to_server < bytes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return to_server >= bytes;
  }

  std::string address;
  std::atomic<uint64_t> to_server = 0;

 private:
  static uint16_t Port(const std::string& address) {
    return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  static sockaddr_in Loopback(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void Run() {
    const int worker = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(server, reinterpret_cast<sockaddr*>(&target_), sizeof(target_)), 0);
    std::array<pollfd, 2> ends = {pollfd{worker, POLLIN, 0}, pollfd{server, POLLIN, 0}};
    std::vector<char> bytes(1 << 16);
    for (bool open = true; open;) {
      poll(ends.data(), ends.size(), -1);
      for (size_t from = 0; from < ends.size() && open; ++from) {
        if (ends[from].revents == 0) continue;
        const ssize_t count = read(ends[from].fd, bytes.data(), bytes.size());
        for (ssize_t passed = 0; open && passed < count;) {
          const ssize_t sent = send(ends[1 - from].fd, bytes.data() + passed,
                                    static_cast<size_t>(count - passed), MSG_NOSIGNAL);
          open = sent > 0;
          passed += sent;
        }
        if (from == 0 && count > 0) to_server += static_cast<uint64_t>(count);
        open = open && count > 0;
      }
    }
    close(worker);
    close(server);
  }

  sockaddr_in target_{};
  int listener_ = -1;
  std::thread thread_;
};

// The gradient of each sample is 1 in the first half of the parameters, and 2 in the other.
void AddHalf(float* sum, bool first, double weight) {
  for (uint64_t i = 0; i < kHalf; ++i) {
    sum[first ? i : kHalf + i] += static_cast<float>(weight * (first ? 1 : 2));
  }
}

// A server with one worker, whose messages go through a relay. `work` runs the worker's job.
class Ready : public testing::Test {
 public:
  // Reports the second half as ready, and waits until most of it has left.
  template <typename Report>
  void LeavesEarly(const Report& ready) {
    ++calls_;
    const uint64_t before = relay_->to_server;
    EXPECT_EQ(ready(kHalf, kParameters), MOTLEY_OK) << motley_last_error();
    EXPECT_TRUE(relay_->HasLeft(before + kHalfBytes / 2));
    EXPECT_EQ(ready(kHalf, kParameters + 1), MOTLEY_INVALID_ARGUMENT);
    EXPECT_THAT(motley_last_error(), HasSubstr("no range of a sum"));
  }

 protected:
  void Train(const motley_trainer& trainer, const std::function<void(motley_job*)>& work) {
    motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
    options.role = MOTLEY_SERVER;
    options.sample_count = 64;
    options.batch = 64;
    options.steps = 3;
    options.workers = options.min_workers = 1;
    options.code = "none";
    options.optimizer = "sgd";
    options.learning_rate = 1;
    options.audit = -1;
    options.token = "one token for this test";
    TestJob server(options);
    std::string address;
    std::atomic<bool> listening = false;
    server.OnEvent([&](const motley_event& event) {
      if (event.kind != MOTLEY_EVENT_LISTENING) return;
      address = event.text;
      listening = true;
      listening.notify_all();
    });
    ASSERT_EQ(server.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
    ASSERT_EQ(motley_job_start(server.get()), MOTLEY_OK) << motley_last_error();
    listening.wait(false);
    Relay relay(address);
    relay_ = &relay;
    motley_job_options worker MOTLEY_JOB_OPTIONS_INIT;
    worker.role = MOTLEY_WORKER;
    worker.server = relay.address.c_str();
    worker.token = options.token;
    {
      TestJob job(worker);
      work(job.get());
    }
    ASSERT_EQ(motley_job_wait(server.get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
    const std::vector<float> learned = server.Parameters();
    EXPECT_FLOAT_EQ(learned.front(), -3);
    EXPECT_FLOAT_EQ(learned.back(), -6);
    EXPECT_EQ(calls_, 3U);
  }

  void RunWith(motley_trainer trainer) {
    trainer.context = this;
    trainer.parameter_count = kParameters;
    Train(trainer, [&](motley_job* job) {
      ASSERT_EQ(motley_job_set_trainer(job, &trainer), MOTLEY_OK) << motley_last_error();
      EXPECT_EQ(motley_job_run(job), MOTLEY_OK) << motley_last_error();
    });
  }

  const Relay* relay_ = nullptr;
  uint64_t calls_ = 0;
};

TEST_F(Ready, RangesLeaveWithinACall) {
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.flags = MOTLEY_WHOLE_ROWS;
  trainer.accumulate = [](void* context, const motley_work* work) {
    const auto samples = static_cast<double>(work->sample_count);
    AddHalf(work->sum, false, work->coefficient * samples);
    static_cast<Ready*>(context)->LeavesEarly(
        [work](uint64_t begin, uint64_t end) { return motley_work_ready(work, begin, end); });
    AddHalf(work->sum, true, work->coefficient * samples);
    return motley_status{MOTLEY_OK};
  };
  RunWith(trainer);
}

TEST_F(Ready, RangesOfAllSumsLeaveWithinACall) {
  motley_trainer trainer MOTLEY_TRAINER_INIT;
  trainer.accumulate_weighted = [](void* context, const motley_weighted_work* work) {
    double weight = 0;
    for (uint64_t r = 0; r < work->run_count; ++r) {
      weight += work->runs[r].weights[0] * static_cast<double>(work->runs[r].count);
    }
    AddHalf(work->sums[0], false, weight);
    static_cast<Ready*>(context)->LeavesEarly(
        [work](uint64_t begin, uint64_t end) { return motley_weighted_ready(work, begin, end); });
    AddHalf(work->sums[0], true, weight);
    return motley_status{MOTLEY_OK};
  };
  RunWith(trainer);
}

TEST_F(Ready, RangesLeaveWithinAStep) {
  motley_trainer server MOTLEY_TRAINER_INIT;
  server.parameter_count = kParameters;
  Train(server, [this](motley_job* job) {
    motley_loop loop MOTLEY_LOOP_INIT;
    loop.parameter_count = kParameters;
    ASSERT_EQ(motley_job_set_loop(job, &loop), MOTLEY_OK) << motley_last_error();
    ASSERT_EQ(motley_job_start(job), MOTLEY_OK) << motley_last_error();
    motley_step step MOTLEY_STEP_INIT;
    while (motley_step_begin(job, -1, &step) == MOTLEY_OK && step.kind != MOTLEY_STEP_END) {
      AddHalf(step.sums[0], false, static_cast<double>(step.sample_count));
      LeavesEarly(
          [&](uint64_t begin, uint64_t end) { return motley_step_ready(job, &step, begin, end); });
      AddHalf(step.sums[0], true, static_cast<double>(step.sample_count));
      EXPECT_EQ(motley_step_end(job, &step, MOTLEY_OK), MOTLEY_OK) << motley_last_error();
      EXPECT_EQ(motley_step_ready(job, &step, 0, 1), MOTLEY_CONFLICT);
    }
    EXPECT_EQ(motley_job_wait(job, -1, nullptr), MOTLEY_OK) << motley_last_error();
  });
}

TEST(ReadyMisuse, OnlyGradientsHaveSums) {
  motley_job_options options = PointJob();
  TestJob job(options);
  motley_loop loop MOTLEY_LOOP_INIT;
  loop.flags = MOTLEY_LOOP_INITIALIZE;
  loop.parameter_count = 3;
  ASSERT_EQ(motley_job_set_loop(job.get(), &loop), MOTLEY_OK) << motley_last_error();
  ASSERT_EQ(motley_job_start(job.get()), MOTLEY_OK) << motley_last_error();
  motley_step step MOTLEY_STEP_INIT;
  ASSERT_EQ(motley_step_begin(job.get(), -1, &step), MOTLEY_OK) << motley_last_error();
  ASSERT_EQ(step.kind, MOTLEY_STEP_INITIALIZE);
  EXPECT_EQ(motley_step_ready(job.get(), &step, 0, 1), MOTLEY_INVALID_ARGUMENT);
  EXPECT_THAT(motley_last_error(), HasSubstr("only steps of the kind GRADIENT have sums"));
  EXPECT_EQ(motley_step_end(job.get(), &step, 2), MOTLEY_OK);
  EXPECT_EQ(motley_job_wait(job.get(), -1, nullptr), MOTLEY_CALLBACK);
  EXPECT_EQ(motley_work_ready(nullptr, 0, 1), MOTLEY_INVALID_ARGUMENT);
  EXPECT_EQ(motley_weighted_ready(nullptr, 0, 1), MOTLEY_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace motley
