// SPDX-License-Identifier: Apache-2.0
// The thread of a device: runs submitted work in order, and reports on the loop thread.
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

// Runs the work and returns its Status; an exception becomes a Status. The work is destroyed before
// this returns.
Status RunWork(Device::Work work);

// Posts reports to the loop, and drops them once the device is gone.
class DoneReporter {
 public:
  struct Report {
    Device::Done done;
    Status status;
  };

  explicit DoneReporter(Loop& loop);
  ~DoneReporter() { Close(); }
  // Any thread: `report->done(report->status)` runs on the loop thread, unless Close comes first.
  // It takes no memory while few tasks wait for the loop, so a device without memory can say so.
  void Post(std::unique_ptr<Report> report);
  void Post(Task task);
  // Loop thread. No report runs after this.
  void Close() { *closed_ = true; }

 private:
  Loop& loop_;
  std::shared_ptr<std::atomic<bool>> closed_ = std::make_shared<std::atomic<bool>>(false);
};

class DeviceThread {
 public:
  // `run` executes one piece of work on the thread: RunWork, and whatever the device adds to it.
  DeviceThread(Loop& loop, std::function<Status(Device::Work)> run);
  // Loop thread. Waits for the running piece; pending Done are not called.
  ~DeviceThread();

  void Submit(Device::Work work, Device::Done done);
  void PostFromWork(Task task);  // See Device.

  // See Device. `last` (optional) runs on the thread after the running work, without `run`, and
  // Rest waits for it, too.
  bool Rest(Duration limit, Device::Work last = nullptr);
  void Abandon();

 private:
  struct Item {
    Device::Work work;
    std::unique_ptr<DoneReporter::Report> report;  // Null if nobody waits for the work.
  };
  void Drive();

  DoneReporter reporter_;
  const std::function<Status(Device::Work)> run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> waiting_;  // Guarded by mutex_; callers bound it.
  bool stopping_ = false;     // Guarded by mutex_, like the next two.
  bool working_ = false;
  bool abandoned_ = false;
  std::thread thread_;
};

}  // namespace motley
