// SPDX-License-Identifier: Apache-2.0
// A libuv loop for tests over real sockets of this machine.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <uv.h>

#include <functional>

namespace motley {

class UvTestLoop {
 public:
  UvTestLoop() {
    signal(SIGPIPE, SIG_IGN);  // Every program with such sockets must do this.
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    EXPECT_EQ(uv_timer_init(&loop_, &limit_), 0);
    limit_.data = &out_of_time_;
  }
  ~UvTestLoop() {
    uv_close(reinterpret_cast<uv_handle_t*>(&limit_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle was left open";
  }
  UvTestLoop(const UvTestLoop&) = delete;
  UvTestLoop& operator=(const UvTestLoop&) = delete;

  uv_loop_t* get() { return &loop_; }
  // Runs until `done` holds, which is checked after every turn. Returns false when it does not in
  // half a minute, which only failing tests reach.
  bool RunUntil(const std::function<bool()>& done) {
    constexpr uint64_t kLimitMs = 30'000;
    out_of_time_ = false;
    uv_update_time(&loop_);
    uv_timer_start(
        &limit_, [](uv_timer_t* timer) { *static_cast<bool*>(timer->data) = true; }, kLimitMs, 0);
    while (!done() && !out_of_time_) uv_run(&loop_, UV_RUN_ONCE);
    uv_timer_stop(&limit_);
    return done();
  }
  // Runs one turn without waiting.
  void Turn() { uv_run(&loop_, UV_RUN_NOWAIT); }

 private:
  uv_loop_t loop_{};
  uv_timer_t limit_{};
  bool out_of_time_ = false;
};

}  // namespace motley
