// SPDX-License-Identifier: Apache-2.0
#include "cli/run/signals.h"

#include <signal.h>
#include <uv.h>

#include <array>
#include <string>
#include <utility>

#include "base/loop/loop_guard.h"
#include "base/time.h"

namespace motley {

struct Signals::Impl {
  explicit Impl(UvLoop& on) : loop(on) {}
  void OnSignal(int number);

  UvLoop& loop;
  std::function<void(int)> caught;
  std::function<void(int)> pass_on;
  std::array<uv_signal_t, 4> handles{};
  size_t open_handles = 0;
  int last = 0;
  Time last_at{};
};

void Signals::Impl::OnSignal(int number) {
  if (number == SIGTSTP) {
    pass_on(SIGSTOP);
    raise(SIGSTOP);  // Returns when this process is continued.
    return pass_on(SIGCONT);
  }
  constexpr Duration kSameSignal = std::chrono::milliseconds(300);
  const Time now = loop.Now();
  if (number == last && now - last_at < kSameSignal) return;
  last = number;
  last_at = now;
  caught(number);
}

Result<std::unique_ptr<Signals>> Signals::Open(UvLoop& loop, std::function<void(int)> caught,
                                               std::function<void(int)> pass_on) {
  std::unique_ptr<Signals> signals(new Signals(new Impl(loop)));
  Impl& impl = *signals->impl_;
  impl.caught = std::move(caught);
  impl.pass_on = std::move(pass_on);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    // nohup, and shells without job control.
    const bool may_be_ignored = number == SIGHUP || number == SIGTSTP;
    if (may_be_ignored && before.sa_handler == SIG_IGN) continue;
    uv_signal_t& handle = impl.handles[impl.open_handles];
    int error = uv_signal_init(loop.handle(), &handle);
    if (error == 0) {
      handle.data = &impl;
      ++impl.open_handles;
      error = uv_signal_start(
          &handle,
          [](uv_signal_t* one, int caught_number) {
            RunGuarded(one->loop->data,
                       [&] { static_cast<Impl*>(one->data)->OnSignal(caught_number); });
          },
          number);
    }
    if (error != 0) {
      return Status::Resource(std::string("cannot watch signals: ") + uv_strerror(error));
    }
  }
  return signals;
}

Signals::~Signals() {
  const size_t open = impl_->open_handles;
  if (open == 0) delete impl_;
  for (size_t i = 0; i < open; ++i) {
    uv_close(reinterpret_cast<uv_handle_t*>(&impl_->handles[i]), [](uv_handle_t* closed) {
      auto* impl = static_cast<Impl*>(closed->data);
      if (--impl->open_handles == 0) delete impl;
    });
  }
}

}  // namespace motley
