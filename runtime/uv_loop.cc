// SPDX-License-Identifier: Apache-2.0
#include "runtime/uv_loop.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/loop/loop_guard.h"

namespace motley {

// Timers are in one map over one timerfd. libuv's own timers round to milliseconds, which would
// show in paced work.
struct UvLoop::Impl final : LoopGuard {
  using Key = std::pair<Time, TimerId>;

  ~Impl();
  void OnOutOfMemory(std::exception_ptr why) override;
  void OnFailure(std::exception_ptr why) override;
  Status Open();
  static Impl& ImplOf(uv_loop_t* loop) {
    return static_cast<Impl&>(*static_cast<LoopGuard*>(loop->data));
  }
  void Arm();
  void RunTimers();
  void RunPosted();

  uv_loop_t loop{};
  uv_async_t posted_signal{};
  uv_poll_t timer_poll{};
  int timer_fd = -1;
  bool loop_open = false;
  bool closing = false;
  Task out_of_memory;
  int calls = 0;               // Calls of `out_of_memory` that have not returned.
  std::exception_ptr failure;  // The first exception that nobody handled, for Run to throw.

  TimerId next_timer = 1;
  std::map<Key, Task> timers;
  std::unordered_map<TimerId, Time> due;  // Used for lookups only.

  std::mutex mutex;  // Guards `posted`; any thread may add to it.
  std::vector<Task> posted;
  std::vector<Task> spare;  // Empty. Becomes the next `posted`, so that Post seldom takes memory.
};

namespace {

Status UvError(const char* what, int code) {
  return Status::Resource(std::string("the event loop cannot start: ") + what + ": " +
                          uv_strerror(code) + "; raise the limit of open files (ulimit -n)");
}

// An epoll, two pipes for signals, an eventfd and the timerfd.
constexpr size_t kDescriptors = 7;

// libuv ends the process if its first loop finds no descriptors for its pipe, so this function asks
// for them first. Another thread may still take them in between.
Status CheckDescriptors() {
  std::array<int, kDescriptors> taken{};
  size_t count = 0;
  Status status;
  while (count < taken.size() && status.ok()) {
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0) {
      status = UvError("no descriptors", uv_translate_sys_error(errno));
    } else {
      taken[count++] = fd;
    }
  }
  while (count > 0) close(taken[--count]);
  return status;
}

// Tasks that may wait without memory for their list: a device reports that it has none by a task.
constexpr size_t kPostedRoom = 64;

Time HrNow() { return Time(Duration(static_cast<int64_t>(uv_hrtime()))); }

}  // namespace

Status UvLoop::Impl::Open() {
  MOTLEY_RETURN_IF_ERROR(CheckDescriptors());
  posted.reserve(kPostedRoom);
  spare.reserve(kPostedRoom);
  if (int e = uv_loop_init(&loop)) return UvError("uv_loop_init", e);
  loop_open = true;
  loop.data = static_cast<LoopGuard*>(this);
  // The clock of uv_hrtime.
  timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (timer_fd < 0) return UvError("timerfd_create", uv_translate_sys_error(errno));
  if (int e = uv_async_init(&loop, &posted_signal,
                            [](uv_async_t* handle) { ImplOf(handle->loop).RunPosted(); })) {
    return UvError("uv_async_init", e);
  }
  if (int e = uv_poll_init(&loop, &timer_poll, timer_fd)) return UvError("uv_poll_init", e);
  uv_poll_start(&timer_poll, UV_READABLE,
                [](uv_poll_t* handle, int, int) { ImplOf(handle->loop).RunTimers(); });
  return Status::Ok();
}

UvLoop::Impl::~Impl() {
  closing = true;  // Pending tasks are dropped, not run.
  if (loop_open) {
    uv_walk(
        &loop,
        [](uv_handle_t* handle, void*) {
          if (!uv_is_closing(handle)) uv_close(handle, nullptr);
        },
        nullptr);
    while (uv_run(&loop, UV_RUN_DEFAULT) != 0) continue;  // A pending Stop ends the first at once.
    MOTLEY_ASSERT(uv_loop_close(&loop) == 0);
  }
  if (timer_fd >= 0) close(timer_fd);
}

void UvLoop::Impl::OnOutOfMemory(std::exception_ptr why) {
  constexpr int kMostCalls = 2;  // See SetOutOfMemory.
  if (!out_of_memory || calls == kMostCalls) return OnFailure(std::move(why));
  ++calls;
  Run([this] { out_of_memory(); });
  --calls;
}

void UvLoop::Impl::OnFailure(std::exception_ptr why) {
  if (!failure) failure = std::move(why);
  uv_stop(&loop);
}

void UvLoop::Impl::Arm() {
  itimerspec spec{};
  if (!timers.empty()) {
    // A time of 0 would disarm the timer.
    const int64_t ns = std::max<int64_t>(1, timers.begin()->first.first.time_since_epoch().count());
    spec.it_value.tv_sec = ns / 1'000'000'000;
    spec.it_value.tv_nsec = ns % 1'000'000'000;
  }
  MOTLEY_ASSERT(timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void UvLoop::Impl::RunTimers() {
  uint64_t expirations = 0;
  if (read(timer_fd, &expirations, sizeof(expirations)) < 0) MOTLEY_ASSERT(errno == EAGAIN);
  const Time now = HrNow();
  // Timers set from here on wait for the next turn, so a chain of zero delays starves nobody.
  const TimerId limit = next_timer;
  auto next = timers.begin();
  while (!closing && next != timers.end() && next->first.first <= now) {
    const Key key = next->first;
    if (key.second < limit) {
      Task task = std::move(next->second);
      timers.erase(next);
      due.erase(key.second);
      Run([&task] { task(); });
    }
    next = timers.upper_bound(key);
  }
  Arm();
}

void UvLoop::Impl::RunPosted() {
  std::vector<Task> tasks = std::move(spare);
  {
    const std::lock_guard lock(mutex);
    tasks.swap(posted);
  }
  for (Task& task : tasks) {
    if (closing) return;
    Run([&task] { task(); });
    task = nullptr;  // Its captures are released now, and not after later tasks.
  }
  tasks.clear();
  spare = std::move(tasks);
}

Result<std::unique_ptr<UvLoop>> UvLoop::Create() {
  std::unique_ptr<UvLoop> loop(new UvLoop());
  MOTLEY_RETURN_IF_ERROR(loop->impl_->Open());
  return loop;
}

UvLoop::UvLoop() : impl_(std::make_unique<Impl>()) {}
UvLoop::~UvLoop() = default;

Time UvLoop::Now() const { return HrNow(); }

TimerId UvLoop::After(Duration delay, Task task) {
  MOTLEY_ASSERT(delay >= Duration::zero());
  const Time now = HrNow();
  const Time due = delay > kNever - now ? kNever : now + delay;
  const TimerId id = impl_->next_timer++;
  impl_->timers.emplace(Impl::Key{due, id}, std::move(task));
  impl_->due.emplace(id, due);
  if (impl_->timers.begin()->first.second == id) impl_->Arm();
  return id;
}

void UvLoop::Cancel(TimerId id) {
  const auto it = impl_->due.find(id);
  if (it == impl_->due.end()) return;
  impl_->timers.erase({it->second, id});
  impl_->due.erase(it);  // A timerfd that fires too early finds nothing due and is armed again.
}

void UvLoop::Post(Task task) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.push_back(std::move(task));
  }
  uv_async_send(&impl_->posted_signal);
}

void UvLoop::Run() {
  uv_run(&impl_->loop, UV_RUN_DEFAULT);
  if (impl_->failure) std::rethrow_exception(std::exchange(impl_->failure, nullptr));
}

void UvLoop::Stop() { uv_stop(&impl_->loop); }

void UvLoop::SetOutOfMemory(Task told) { impl_->out_of_memory = std::move(told); }

uv_loop_s* UvLoop::handle() { return &impl_->loop; }

}  // namespace motley
