// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/store/disk.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/loop/virtual_loop.h"
#include "runtime/uv_loop.h"
#include "sim/world/sim_disk.h"
#include "sim/world/sim_store.h"

namespace motley {
namespace {

TEST(ThreadDisk, WorksElsewhereAndIsDoneOnTheLoop) {
  auto loop = std::move(*UvLoop::Create());
  SimStore store(1);
  const std::unique_ptr<Disk> disk = std::move(*MakeThreadDisk(*loop, store));
  const auto loop_thread = std::this_thread::get_id();
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    disk->Submit(
        [loop_thread, i](Store& used) -> Status {
          if (std::this_thread::get_id() == loop_thread) return Status::Internal("on the loop");
          return used.MakeFolder("f" + std::to_string(i));
        },
        [&, i](Status status) {
          EXPECT_TRUE(status.ok()) << status.ToString();
          EXPECT_EQ(std::this_thread::get_id(), loop_thread);
          order.push_back(i);
          if (i == 4) loop->Stop();
        });
  }
  EXPECT_TRUE(order.empty());
  loop->Run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(store.List("")->size(), 5u);
}

TEST(ThreadDisk, RefusesWhenTooMuchWaits) {
  auto loop = std::move(*UvLoop::Create());
  SimStore store(1);
  std::promise<void> started;
  std::promise<void> gate;
  std::vector<StatusCode> codes;
  const auto wait = [&](Status status) { codes.push_back(status.code()); };
  const std::unique_ptr<Disk> disk =
      // Last, because its destructor waits for work that uses the others.
      std::move(*MakeThreadDisk(*loop, store));
  disk->Submit(
      [&](Store&) {
        started.set_value();
        gate.get_future().wait();
        return Status::Ok();
      },
      wait);
  started.get_future().wait();
  for (size_t i = 0; i < Disk::kMostWaiting; ++i) {
    disk->Submit([](Store&) { return Status::Ok(); }, wait);
  }
  disk->Submit([](Store&) { return Status::Ok(); },
               [&](Status status) {
                 EXPECT_EQ(status.code(), StatusCode::kUnavailable);
                 loop->Stop();
               });
  loop->Run();
  EXPECT_TRUE(codes.empty());
  gate.set_value();
}

TEST(ThreadDisk, TellsEverybodyWhenItCloses) {
  auto loop = std::move(*UvLoop::Create());
  SimStore store(1);
  std::promise<void> started;
  std::promise<void> busy;
  std::vector<StatusCode> codes;
  auto held = std::make_shared<int>(1);
  {
    const std::unique_ptr<Disk> disk = std::move(*MakeThreadDisk(*loop, store));
    const auto note = [&](Status status) { codes.push_back(status.code()); };
    disk->Submit(
        [&](Store&) {
          started.set_value();
          return Status::DataError("as asked");
        },
        note);
    started.get_future().wait();
    disk->Submit(
        [&busy](Store&) {
          busy.set_value();
          return Status::Ok();
        },
        note);
    busy.get_future().wait();
    // It is open whether this work runs before the destructor stops the thread. It is reported in
    // both cases.
    disk->Submit([held](Store&) { return Status::Ok(); }, note);
  }
  ASSERT_EQ(codes.size(), 3u);
  EXPECT_EQ(codes[0], StatusCode::kDataError);
  EXPECT_EQ(codes[1], StatusCode::kOk);
  EXPECT_TRUE(codes[2] == StatusCode::kOk || codes[2] == StatusCode::kCancelled);
  EXPECT_EQ(held.use_count(), 1);
  loop->After(Duration::zero(), [&] { loop->Stop(); });
  loop->Run();  // Tasks that were posted meanwhile do nothing.
  EXPECT_EQ(codes.size(), 3u);
}

TEST(SimDisk, IsDoneAfterItsModelledTime) {
  VirtualLoop loop;
  SimStore store(1);
  auto disk = MakeSimDisk(loop, store, {.per_piece = std::chrono::milliseconds(10)});
  std::vector<Time> done;
  for (const char* name : {"a", "b"}) {
    disk->Submit([name](Store& used) { return used.MakeFolder(name); },
                 [&](Status status) {
                   EXPECT_TRUE(status.ok());
                   done.push_back(loop.Now());
                 });
  }
  EXPECT_TRUE(store.List("")->empty());
  loop.RunUntil([&] { return done.size() == 2; });
  EXPECT_EQ(done, (std::vector<Time>{Time(std::chrono::milliseconds(10)),
                                     Time(std::chrono::milliseconds(20))}));
  StatusCode last = StatusCode::kOk;
  disk->Submit([](Store& used) { return used.MakeFolder("c"); },
               [&](Status status) { last = status.code(); });
  disk.reset();
  EXPECT_EQ(last, StatusCode::kCancelled);
  EXPECT_FALSE(loop.RunUntil([] { return false; }));  // Its timer finds no object.
  EXPECT_EQ(store.List("")->size(), 2u);
}

}  // namespace
}  // namespace motley
