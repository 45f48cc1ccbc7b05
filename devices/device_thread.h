// SPDX-License-Identifier: Apache-2.0
// The thread of a device: runs what is submitted, in order, and reports on the loop thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/loop/loop.h"
#include "devices/device.h"

namespace motley {

// What `work` returns; an exception that leaves it becomes a Status. Work is gone afterwards.
Status RunWork(Device::Work work);

// Reports that are dropped once the device they are of is gone.
class DoneReporter {
 public:
  explicit DoneReporter(Loop& loop) : loop_(loop) {}
  ~DoneReporter() { Close(); }
  // Any thread: `done(status)` runs on the loop thread, unless Close comes before.
  void Post(Device::Done done, Status status);
  void Post(Task task);
  // Loop thread. From now on none of them runs.
  void Close() { *closed_ = true; }

 private:
  Loop& loop_;
  std::shared_ptr<std::atomic<bool>> closed_ = std::make_shared<std::atomic<bool>>(false);
};

class DeviceThread {
 public:
  // `run` does the work of one piece on the thread: RunWork, and what the device adds to it.
  DeviceThread(Loop& loop, std::function<Status(Device::Work)> run);
  // Loop thread. Waits for the piece in progress; pending Done are not called.
  ~DeviceThread();

  void Submit(Device::Work work, Device::Done done);
  void PostFromWork(Task task);  // As Device says.

  // As Device says. `last` (optional) runs on the thread when it is done, without `run`, and must
  // be done, too.
  bool Rest(Duration limit, Device::Work last = nullptr);
  void Abandon();

 private:
  struct Item {
    Device::Work work;
    Device::Done done;
  };
  void Drive();

  DoneReporter reporter_;
  const std::function<Status(Device::Work)> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> waiting_;  // Guarded by mutex_; whoever submits bounds it.
  bool stopping_ = false;     // Guarded by mutex_, as are these.
  bool working_ = false;
  bool abandoned_ = false;
  std::thread thread_;
};

}  // namespace motley
