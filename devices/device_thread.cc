// SPDX-License-Identifier: Apache-2.0
#include "devices/device_thread.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <utility>

namespace motley {
namespace {

// Made before memory is short: a Status with a message takes some.
const Status& NoMemoryForWork() {
  static const Status status = Status::Resource("out of memory in the work of a device");
  return status;
}

}  // namespace

Status RunWork(Device::Work work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NoMemoryForWork();
  } catch (const std::exception& error) {
    return Status::Internal(fmt::format("the work of a device failed: {}", error.what()));
  } catch (...) {
    return Status::Internal("the work of a device failed with an unknown exception");
  }
}

DoneReporter::DoneReporter(Loop& loop) : loop_(loop) { NoMemoryForWork(); }

void DoneReporter::Post(std::unique_ptr<Report> report) {
  loop_.Post([closed = closed_, report = std::move(report)] {
    if (!*closed) report->done(report->status);
  });
}

void DoneReporter::Post(Task task) {
  loop_.Post([closed = closed_, task = std::move(task)] {
    if (!*closed) task();
  });
}

DeviceThread::DeviceThread(Loop& loop, std::function<Status(Device::Work)> run)
    : reporter_(loop), run_(std::move(run)), thread_([this] { Drive(); }) {}

DeviceThread::~DeviceThread() {
  reporter_.Close();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceThread::Submit(Device::Work work, Device::Done done) {
  auto report = std::make_unique<DoneReporter::Report>();
  report->done = std::move(done);
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(work), std::move(report)});
  }
  changed_.notify_one();
}

void DeviceThread::PostFromWork(Task task) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !abandoned_; });  // The loop may be gone.
  reporter_.Post(std::move(task));
}

void DeviceThread::Drive() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    lock.unlock();
    const bool last = item.report == nullptr;
    Status status;
    try {
      status = last ? RunWork(std::move(item.work)) : run_(std::move(item.work));
    } catch (const std::bad_alloc&) {
      status = NoMemoryForWork();
    }
    lock.lock();
    // The item may own objects of a loop that is gone, so it is never destroyed.
    changed_.wait(lock, [this] { return !abandoned_; });
    if (!last) {
      item.report->status = std::move(status);
      reporter_.Post(std::move(item.report));
    }
    working_ = false;
    lock.unlock();
    changed_.notify_one();
  }
}

bool DeviceThread::Rest(Duration limit, Device::Work last) {
  std::deque<Item> dropped;  // Destroyed after the unlock: its objects may call Rest.
  std::unique_lock lock(mutex_);
  dropped.swap(waiting_);
  if (last) waiting_.push_back({std::move(last), nullptr});
  changed_.notify_one();
  return changed_.wait_for(lock, limit, [this] { return !working_ && waiting_.empty(); });
}

void DeviceThread::Abandon() {
  reporter_.Close();
  const std::lock_guard lock(mutex_);
  abandoned_ = true;
  thread_.detach();
}

}  // namespace motley
