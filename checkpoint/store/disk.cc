// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/store/disk.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace motley {
namespace {

class ThreadDisk final : public Disk {
 public:
  ThreadDisk(Loop& loop, Store& store) : loop_(loop), shared_(std::make_shared<Shared>()) {
    shared_->finished.reserve(2 * kMostWaiting);
    thread_ = std::thread([this, &store] { Run(store); });
  }

  ~ThreadDisk() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
    shared_->open = false;
    // These were posted, but the loop may never run them.
    for (auto& [done, status] : std::exchange(shared_->finished, {})) done(std::move(status));
    for (Piece& piece : waiting_) {
      piece.work = nullptr;
      piece.done(Status::Cancelled("the disk was closed before this work ran"));
    }
  }

  void Submit(Work work, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() < kMostWaiting) {
        waiting_.push_back({std::move(work), std::move(done)});
        done = nullptr;
      }
    }
    if (done == nullptr) return changed_.notify_one();
    work = nullptr;
    Deliver(std::move(done), Status::Unavailable("too much work is waiting for the disk"));
  }

 private:
  struct Piece {
    Work work;
    Done done;
  };
  // Finished work that was not reported yet. Posted tasks may outlive the disk. The list has room
  // from the beginning, so that work without memory can be reported.
  struct Shared {
    std::mutex mutex;
    std::vector<std::pair<Done, Status>> finished;
    bool open = true;  // For the loop thread.
  };

  void Deliver(Done done, Status status) {
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->finished.emplace_back(std::move(done), std::move(status));
    }
    loop_.Post([shared = shared_] {
      if (!shared->open) return;
      std::pair<Done, Status> next;
      {
        const std::lock_guard lock(shared->mutex);
        next = std::move(shared->finished.front());
        shared->finished.erase(shared->finished.begin());
      }
      next.first(std::move(next.second));
    });
  }

  void Run(Store& store) {
    while (true) {
      Piece piece;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        piece = std::move(waiting_.front());
        waiting_.pop_front();
      }
      Status status;
      try {
        status = piece.work(store);
      } catch (const std::bad_alloc&) {
        status = no_memory_;
      }
      piece.work = nullptr;
      Deliver(std::move(piece.done), std::move(status));
    }
  }

  Loop& loop_;
  const Status no_memory_ = Status::Resource("out of memory while files were written");
  std::shared_ptr<Shared> shared_;
  std::mutex mutex_;  // Guards waiting_ and stopping_.
  std::deque<Piece> waiting_;
  bool stopping_ = false;
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Disk>> MakeThreadDisk(Loop& loop, Store& store) {
  try {
    return std::unique_ptr<Disk>(std::make_unique<ThreadDisk>(loop, store));
  } catch (const std::system_error& error) {
    return Status::Resource(
        fmt::format("cannot start a thread that writes files: {}", error.what()));
  }
}

}  // namespace motley
