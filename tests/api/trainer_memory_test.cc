// SPDX-License-Identifier: Apache-2.0
// Trainers with memory of their own for vectors, and trainers that let go of the samples that they
// hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/api/api_world.h"
#include "tests/api/point_trainer.h"

namespace motley {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The program's own memory, and what it was asked for.
class Arena {
 public:
  void* Allocate(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(bytes > 0 && bytes % 64 == 0) << bytes;
    if (asked++ >= most) return nullptr;
    void* const memory = std::aligned_alloc(64, bytes);
    blocks_[reinterpret_cast<uintptr_t>(memory)] = bytes;
    return memory;
  }
  void Release(void* memory, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto at = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    ASSERT_NE(at, blocks_.end()) << "it was never allocated, or was released before";
    EXPECT_EQ(at->second, bytes);
    blocks_.erase(at);
    std::free(memory);
  }
  bool Has(const float* values, uint64_t count) {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<uintptr_t>(values);
    auto at = blocks_.upper_bound(begin);
    if (at == blocks_.begin()) return false;
    --at;
    return begin + count * sizeof(float) <= at->first + at->second;
  }
  size_t blocks() const { return blocks_.size(); }

  uint64_t asked = 0;
  uint64_t most = UINT64_MAX;  // Later ones get NULL.
  std::atomic<uint64_t> calls = 0;

 private:
  std::mutex mutex_;
  std::map<uintptr_t, uint64_t> blocks_;
};

// Adds the points only if all vectors lie in the arena.
motley_status AccumulateInArena(void* context, const motley_work* work) {
  Arena& arena = *static_cast<Arena*>(context);
  ++arena.calls;
  const uint64_t count = work->parameter_count;
  if (!arena.Has(work->parameters, count) || !arena.Has(work->sum, count)) return 7;
  return AccumulatePoints(nullptr, work);
}

motley_status AccumulateRowsInArena(void* context, const motley_weighted_work* work) {
  Arena& arena = *static_cast<Arena*>(context);
  ++arena.calls;
  if (!arena.Has(work->parameters, work->parameter_count)) return 7;
  for (uint32_t v = 0; v < work->vectors; ++v) {
    if (!arena.Has(work->sums[v], work->parameter_count)) return 8;
  }
  for (uint64_t r = 0; r < work->run_count; ++r) {
    const motley_run& run = work->runs[r];
    for (uint64_t k = run.first; k < run.first + run.count; ++k) {
      for (uint64_t axis = 0; axis < POINT_DIMENSIONS; ++axis) {
        const float away = work->parameters[axis] - PointCoordinate(work->samples[k], axis);
        for (uint32_t v = 0; v < work->vectors; ++v) {
          work->sums[v][axis] += static_cast<float>(run.weights[v]) * away;
        }
        work->losses[r] += 0.5 * away * away;
      }
    }
  }
  return MOTLEY_OK;
}

motley_trainer ArenaTrainer(Arena& arena) {
  motley_trainer trainer = PointTrainer();
  trainer.context = &arena;
  trainer.accumulate = AccumulateInArena;
  trainer.allocate = [](void* context, uint64_t bytes) {
    return static_cast<Arena*>(context)->Allocate(bytes);
  };
  trainer.release = [](void* context, void* memory, uint64_t bytes) {
    static_cast<Arena*>(context)->Release(memory, bytes);
  };
  return trainer;
}

// What a job learns with memory of the arena.
std::vector<float> Learned(const motley_job_options& options, motley_trainer trainer,
                           Arena& arena) {
  std::vector<float> learned;
  {
    TestJob job(options);
    EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
    job.RunFine();
    learned = job.Parameters();
    EXPECT_GT(arena.calls, 0U);
  }
  EXPECT_EQ(arena.blocks(), 0U) << "the job is destroyed";
  return learned;
}

std::vector<float> LearnedWithoutMemory(const motley_job_options& options) {
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
  job.RunFine();
  return job.Parameters();
}

void ExpectLike(const std::vector<float>& learned, const std::vector<float>& wanted) {
  ASSERT_EQ(learned.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(learned[i], wanted[i], 1e-5);
}

// Codes with real and complex coefficients, with parts, with leases and with sums that are kept.
constexpr const char* kCodes[] = {"none",  "adaptive",      "repetition", "cyclic",       "rs",
                                  "short", "heterogeneous", "group",      "partial-coded"};

TEST(ApiTrainerMemory, HasAllVectorsThatAccumulateGets) {
  for (const char* code : kCodes) {
    SCOPED_TRACE(code);
    motley_job_options options = PointJob();
    options.code = code;
    options.workers = 4;
    options.audit = 1;
    Arena arena;
    ExpectLike(Learned(options, ArenaTrainer(arena), arena), LearnedWithoutMemory(options));
  }
}

TEST(ApiTrainerMemory, HasAllVectorsThatAccumulateWeightedGets) {
  for (const char* code : kCodes) {
    SCOPED_TRACE(code);
    motley_job_options options = PointJob();
    options.code = code;
    options.workers = 4;
    Arena arena;
    motley_trainer trainer = ArenaTrainer(arena);
    trainer.accumulate_weighted = AccumulateRowsInArena;
    ExpectLike(Learned(options, trainer, arena), LearnedWithoutMemory(options));
  }
}

// A worker that takes steps of its own computes them from parameters of its own.
TEST(ApiTrainerMemory, HasTheVectorsOfLocalSteps) {
  motley_job_options options = PointJob();
  options.sync = "local:4";
  Arena arena;
  ExpectLike(Learned(options, ArenaTrainer(arena), arena), LearnedWithoutMemory(options));
}

// A job of one worker that connects over a socket.
class PointServer {
 public:
  // `listen`: an address; empty: any.
  explicit PointServer(const std::string& listen = "") {
    motley_job_options options = PointJob();
    options.role = MOTLEY_SERVER;
    options.listen = listen.empty() ? nullptr : listen.c_str();
    options.workers = options.min_workers = 1;
    options.steps = 3;
    options.code = "none";
    options.token = kToken;
    job_ = std::make_unique<TestJob>(options);
    job_->OnEvent([this](const motley_event& event) {
      if (event.kind != MOTLEY_EVENT_LISTENING) return;
      address_ = event.text;
      listens_ = true;
      listens_.notify_all();
    });
    EXPECT_EQ(job_->SetTrainer(PointTrainer()), MOTLEY_OK) << motley_last_error();
    EXPECT_EQ(motley_job_start(job_->get()), MOTLEY_OK) << motley_last_error();
    listens_.wait(false);
  }
  const std::string& address() const { return address_; }
  void Wait() {
    EXPECT_EQ(motley_job_wait(job_->get(), -1, nullptr), MOTLEY_OK) << motley_last_error();
  }

  static constexpr char kToken[] = "one token for this test";

 private:
  std::unique_ptr<TestJob> job_;
  std::string address_;
  std::atomic<bool> listens_ = false;
};

// Options of a worker that takes one job after the other.
motley_job_options WorkerOf(const std::string& address) {
  motley_job_options options MOTLEY_JOB_OPTIONS_INIT;
  options.role = MOTLEY_WORKER;
  options.server = address.c_str();
  options.token = PointServer::kToken;
  options.forever = 1;
  return options;
}

TEST(ApiTrainerMemory, OfAWorkerByItselfIsReleased) {
  Arena arena;
  {
    PointServer server;
    motley_job_options options = WorkerOf(server.address());
    options.forever = 0;
    TestJob worker(options);
    ASSERT_EQ(worker.SetTrainer(ArenaTrainer(arena)), MOTLEY_OK) << motley_last_error();
    worker.RunFine();
    server.Wait();
  }
  EXPECT_GT(arena.calls, 0U);
  EXPECT_EQ(arena.blocks(), 0U);
}

TEST(ApiTrainerMemory, IsUsedAgainInLaterSteps) {
  uint64_t asked = 0;
  for (const uint64_t steps : {uint64_t{5}, uint64_t{60}}) {
    motley_job_options options = PointJob();
    options.code = "none";
    options.workers = 1;
    options.audit = -1;
    options.steps = steps;
    Arena arena;
    Learned(options, ArenaTrainer(arena), arena);
    EXPECT_LE(arena.asked, 6U) << "three versions of the parameters, two answers, and a spare one";
    asked = arena.asked;
  }
  EXPECT_GE(asked, 2U);
}

std::string RunFails(const motley_trainer& trainer, motley_status wanted) {
  motley_job_options options = PointJob();
  options.code = "none";
  options.audit = -1;
  options.workers = 1;
  TestJob job(options);
  EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(job.Run(), wanted);
  return motley_last_error();
}

TEST(ApiTrainerMemory, NoneLeftEndsTheJobWithWhatWasMissing) {
  Arena arena;
  arena.most = 0;
  EXPECT_THAT(RunFails(ArenaTrainer(arena), MOTLEY_RESOURCE),
              AllOf(HasSubstr("memory for the parameters"),
                    HasSubstr("the trainer's allocate returned NULL for 64 bytes"),
                    HasSubstr("ulimit -l")));
  Arena later;
  later.most = 1;
  EXPECT_THAT(RunFails(ArenaTrainer(later), MOTLEY_RESOURCE),
              HasSubstr("memory for the worker's answer"));
  EXPECT_EQ(later.blocks(), 0U);
}

TEST(ApiTrainerMemory, AtAnAddressThatIsNoMultipleOf64IsRefused) {
  static Arena arena;
  motley_trainer trainer = ArenaTrainer(arena);
  trainer.context = nullptr;
  trainer.allocate = [](void*, uint64_t bytes) -> void* {
    return static_cast<char*>(arena.Allocate(bytes + 64)) + 4;
  };
  trainer.release = [](void*, void* memory, uint64_t bytes) {
    arena.Release(static_cast<char*>(memory) - 4, bytes + 64);
  };
  EXPECT_THAT(RunFails(trainer, MOTLEY_CALLBACK),
              AllOf(HasSubstr("allocate returned 64 bytes at 0x"), HasSubstr("no multiple of 64"),
                    HasSubstr("aligned_alloc(64, bytes)")));
  EXPECT_EQ(arena.blocks(), 0U);
}

TEST(ApiTrainerMemory, ExceptionsOfAllocateEndTheJob) {
  Arena arena;
  motley_trainer trainer = ArenaTrainer(arena);
  trainer.allocate = [](void*, uint64_t) -> void* {
    return std::vector<char*>(1).at(std::stoi("no"));
  };
  EXPECT_THAT(RunFails(trainer, MOTLEY_CALLBACK),
              HasSubstr("the trainer's allocate threw an exception: stoi"));
}

TEST(ApiTrainerMemory, CallbacksThatNeedAnotherOneAreRefusedAlone) {
  const auto refused = [](const std::function<void(motley_trainer&)>& set) {
    Arena arena;
    motley_trainer trainer = ArenaTrainer(arena);
    set(trainer);
    TestJob job(PointJob());
    EXPECT_EQ(job.SetTrainer(trainer), MOTLEY_INVALID_ARGUMENT);
    return std::string(motley_last_error());
  };
  EXPECT_THAT(refused([](motley_trainer& trainer) { trainer.release = nullptr; }),
              HasSubstr("allocate is set and release is NULL"));
  EXPECT_THAT(refused([](motley_trainer& trainer) { trainer.allocate = nullptr; }),
              HasSubstr("release is set and allocate is NULL"));
  EXPECT_THAT(refused([](motley_trainer& trainer) {
                trainer.drop = [](void*, uint32_t, uint64_t, uint64_t) {};
              }),
              HasSubstr("drop ends what hold began, and hold is NULL"));
}

// A program of the first release of this generation knows nothing of what follows.
TEST(ApiTrainerMemory, MembersBehindAnOlderStructAreNotRead) {
  motley_trainer trainer = PointTrainer();
  trainer.struct_size = 80;
  trainer.allocate = [](void*, uint64_t) -> void* { return nullptr; };
  TestJob job(PointJob());
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  job.RunFine();
}

// What the workers of this process hold, and whether they compute on anything else.
struct Held {
  std::mutex mutex;
  std::map<uint32_t, int> times;  // How often each partition is held now.
  std::map<uint64_t, int> samples;
  std::vector<std::string> order;  // "hold", "work" and "drop", without repetitions.
  int held = 0, dropped = 0;
  bool fine = true;

  void Say(const char* what) {
    if (order.empty() || order.back() != what) order.emplace_back(what);
  }
  void Count(uint32_t partition, uint64_t first, uint64_t count, int by) {
    times[partition] += by;
    fine = fine && times[partition] >= 0;
    for (uint64_t i = first; i < first + count; ++i) samples[i] += by;
  }
  uint64_t HeldNow() const {
    uint64_t now = 0;
    for (const auto& [partition, number] : times) now += number;
    return now;
  }
};

motley_trainer HoldingTrainer(Held& held) {
  motley_trainer trainer = PointTrainer();
  trainer.context = &held;
  trainer.hold = [](void* context, uint32_t partition, uint64_t first, uint64_t count) {
    Held& all = *static_cast<Held*>(context);
    const std::lock_guard lock(all.mutex);
    all.Say("hold");
    ++all.held;
    all.Count(partition, first, count, 1);
    return motley_status{MOTLEY_OK};
  };
  trainer.drop = [](void* context, uint32_t partition, uint64_t first, uint64_t count) {
    Held& all = *static_cast<Held*>(context);
    const std::lock_guard lock(all.mutex);
    all.Say("drop");
    ++all.dropped;
    all.Count(partition, first, count, -1);
  };
  trainer.accumulate = [](void* context, const motley_work* work) {
    Held& all = *static_cast<Held*>(context);
    {
      const std::lock_guard lock(all.mutex);
      all.Say("work");
      for (uint64_t i = 0; i < work->sample_count; ++i) {
        all.fine = all.fine && all.samples[work->samples[i]] > 0;
      }
    }
    return AccumulatePoints(nullptr, work);
  };
  return trainer;
}

TEST(ApiTrainerDrop, ComesOnceForEachHoldWhenTheJobHasEnded) {
  for (const char* code : {"none", "adaptive", "cyclic"}) {
    SCOPED_TRACE(code);
    motley_job_options options = PointJob();
    options.code = code;
    options.workers = 3;
    Held held;
    TestJob job(options);
    ASSERT_EQ(job.SetTrainer(HoldingTrainer(held)), MOTLEY_OK) << motley_last_error();
    job.RunFine();
    EXPECT_TRUE(held.fine);
    EXPECT_GT(held.held, 0);
    EXPECT_EQ(held.dropped, held.held);
    EXPECT_EQ(held.HeldNow(), 0U);
  }
}

// A call of `accumulate` is under way when the job is stopped.
TEST(ApiTrainerDrop, ComesAfterTheWorkThatWasUnderWay) {
  static std::atomic<bool> working = false, at_fault = false;
  motley_job_options options = PointJob();
  options.steps = 1'000'000;
  options.code = "none";
  options.workers = 1;
  Held held;
  motley_trainer trainer = HoldingTrainer(held);
  static motley_job* stopped = nullptr;
  trainer.accumulate = [](void*, const motley_work* work) {
    working = true;
    if (work->step == 2) {
      motley_job_stop(stopped);
      while (!motley_work_cancelled(work)) continue;
    }
    working = false;
    return motley_status{MOTLEY_OK};
  };
  trainer.drop = [](void* context, uint32_t, uint64_t, uint64_t) {
    at_fault = at_fault || working;
    ++static_cast<Held*>(context)->dropped;
  };
  TestJob job(options);
  stopped = job.get();
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK) << motley_last_error();
  EXPECT_EQ(job.Run(), MOTLEY_CANCELLED) << motley_last_error();
  EXPECT_FALSE(at_fault);
  EXPECT_GT(held.held, 0);
  EXPECT_EQ(held.dropped, held.held);
}

TEST(ApiTrainerDrop, IsNotForAHoldThatFailed) {
  Held held;
  motley_trainer trainer = HoldingTrainer(held);
  trainer.hold = [](void*, uint32_t, uint64_t, uint64_t) { return motley_status{5}; };
  TestJob job(PointJob());
  ASSERT_EQ(job.SetTrainer(trainer), MOTLEY_OK);
  EXPECT_EQ(job.Run(), MOTLEY_CALLBACK);
  EXPECT_EQ(held.dropped, 0);
}

// A worker of a service lets go of one job's samples before it holds those of the next.
TEST(ApiTrainerDrop, ComesBetweenTheJobsOfAWorkerThatWaitsForMore) {
  Held held;
  std::string address;
  std::unique_ptr<TestJob> worker;
  for (int jobs = 0; jobs < 2; ++jobs) {
    PointServer server(address);
    address = server.address();
    if (worker == nullptr) {
      worker = std::make_unique<TestJob>(WorkerOf(address));
      ASSERT_EQ(worker->SetTrainer(HoldingTrainer(held)), MOTLEY_OK) << motley_last_error();
      ASSERT_EQ(motley_job_start(worker->get()), MOTLEY_OK) << motley_last_error();
    }
    server.Wait();
  }
  motley_job_stop(worker->get());
  EXPECT_EQ(motley_job_wait(worker->get(), -1, nullptr), MOTLEY_CANCELLED);
  EXPECT_TRUE(held.fine);
  EXPECT_EQ(held.dropped, held.held);
  EXPECT_EQ(held.order, (std::vector<std::string>{"hold", "work", "drop", "hold", "work", "drop"}));
}

}  // namespace
}  // namespace motley
