// SPDX-License-Identifier: Apache-2.0
#include "api/loop/step_exchange.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "api/entry.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

// How often a thread looks if the work that it offers is still wanted. The flags for that notify
// nobody.
constexpr auto kLook = std::chrono::milliseconds(10);
constexpr double kLongest = 1e6;  // Seconds of a wait, so that sums of times do not overflow.

// No two steps of a process have the same ticket, so a step of another job is recognised.
uint64_t FreshTicket() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

struct StepExchange::Entry {
  Offered work;
  bool taken = false;
  bool done = false;
  bool reports = false;  // `ready` runs.
  motley_status status = MOTLEY_OK;
};

StepExchange::~StepExchange() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<motley_status> StepExchange::Offer(Offered work) {
  Entry entry{std::move(work)};
  entry.work.step.ticket = FreshTicket();
  std::unique_lock lock(mutex_);
  waiting_.push_back(&entry);
  Signal();
  offered_.notify_one();
  while (!entry.done || entry.reports) {
    if (entry.taken) {
      ended_.wait(lock);
    } else if (closed_ || entry.work.unwanted()) {
      std::erase(waiting_, &entry);
      Signal();
      return Status::Cancelled("nobody took the work before it was no longer needed");
    } else {
      ended_.wait_for(lock, kLook);
    }
  }
  return entry.status;
}

void StepExchange::Open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
}

void StepExchange::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  Signal();
  offered_.notify_all();
}

StepExchange::Entry* StepExchange::FirstWanted() const {
  const auto wanted = std::find_if(waiting_.begin(), waiting_.end(),
                                   [](const Entry* entry) { return !entry->work.unwanted(); });
  return wanted == waiting_.end() ? nullptr : *wanted;
}

Status StepExchange::Begin(double timeout_seconds, motley_step& step) {
  std::unique_lock lock(mutex_);
  if (!open_) {
    return Status::Conflict("the job was not started: call motley_job_start before");
  }
  Entry* entry = nullptr;
  const auto ready = [&] {
    entry = FirstWanted();
    return closed_ || entry != nullptr;
  };
  step = {};
  ended_.notify_all();  // Threads with unwanted work look at once, so that new work can follow.
  if (timeout_seconds < 0) {
    offered_.wait(lock, ready);
  } else if (!offered_.wait_for(
                 lock, std::chrono::duration<double>(std::min(timeout_seconds, kLongest)), ready)) {
    return Status::Ok();
  }
  if (entry == nullptr) {
    step.kind = MOTLEY_STEP_END;
    return Status::Ok();
  }
  out_.emplace(entry->work.step.ticket, entry);
  entry->taken = true;
  std::erase(waiting_, entry);
  Signal();
  step = entry->work.step;
  return Status::Ok();
}

Result<StepExchange::Entry*> StepExchange::FindOut(const motley_step& step) const {
  const auto found = out_.find(step.ticket);
  if (found != out_.end()) return found->second;
  if (step.ticket == 0) {
    return Status::InvalidArgument(
        "this step is no work: steps of the kinds NONE and END are not handed back");
  }
  return Status::Conflict(
      "this step is not out: it was handed back before, or belongs to another job");
}

Result<bool> StepExchange::Partial(const motley_step& step, uint64_t samples_done) {
  const std::lock_guard lock(mutex_);
  MOTLEY_ASSIGN_OR_RETURN(Entry* const entry, FindOut(step));
  if (entry->work.unwanted()) return true;
  if (entry->work.progress) entry->work.progress(samples_done);
  return false;
}

Status StepExchange::Ready(const motley_step& step, uint64_t begin, uint64_t end) {
  std::unique_lock lock(mutex_);
  MOTLEY_ASSIGN_OR_RETURN(Entry * entry, FindOut(step));
  while (entry->reports) {  // One at a time; the step may end meanwhile.
    ended_.wait(lock);
    MOTLEY_ASSIGN_OR_RETURN(entry, FindOut(step));
  }
  if (!entry->work.ready) {
    return Status::InvalidArgument("only steps of the kind GRADIENT have sums");
  }
  MOTLEY_RETURN_IF_ERROR(CheckRange(begin, end, entry->work.step.parameter_count));
  if (entry->work.unwanted()) return Status::Ok();
  entry->reports = true;
  lock.unlock();
  const Status called = OrNoMemory("a range of a sum", [&] {
    entry->work.ready(begin, end);
    return Status::Ok();
  });
  lock.lock();
  entry->reports = false;
  ended_.notify_all();
  return called;
}

Status StepExchange::End(const motley_step& step, motley_status status) {
  const std::lock_guard lock(mutex_);
  MOTLEY_ASSIGN_OR_RETURN(Entry* const entry, FindOut(step));
  out_.erase(step.ticket);
  entry->status = status;
  entry->done = true;
  ended_.notify_all();
  return Status::Ok();
}

// Not earlier: a program may fork between making a job and starting it.
Result<int> StepExchange::Descriptor() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) {
    descriptor_ = eventfd(signalled_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor_ < 0) {
      return Status::Resource(
          fmt::format("the job cannot have a descriptor: {}", std::strerror(errno)));
    }
  }
  return descriptor_;
}

// The caller has the lock. Work that became unwanted signals until its thread takes it back.
void StepExchange::Signal() {
  const bool ready = closed_ || !waiting_.empty();
  if (std::exchange(signalled_, ready) == ready || descriptor_ < 0) return;
  if (ready) {
    eventfd_write(descriptor_, 1);
  } else {
    eventfd_t value = 0;
    eventfd_read(descriptor_, &value);
  }
}

}  // namespace motley
