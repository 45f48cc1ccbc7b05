// SPDX-License-Identifier: Apache-2.0
// The shard servers that a job needs before its first step. It waits for all of them. If all of
// them are lost before the vector has been placed, it waits for one to come back. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/job_notice.h"

namespace motley {

class AwaitedServers {
 public:
  struct Hooks {
    std::function<void()> there;                // Runs once, when all are ready.
    std::function<bool()> placed;               // The vector has its owners.
    std::function<void(const Status&)> failed;  // They did not come in time.
    std::function<void(const JobNotice&)> notice;
  };

  AwaitedServers(Loop& loop, uint32_t wanted, Duration limit, Hooks hooks);
  ~AwaitedServers();

  bool waiting() const { return ready_.size() < wanted_ && (!there_ || ready_.empty()); }
  void Start();  // The time limit begins.
  void Ready(WorkerId node);
  void Lost(WorkerId node);

 private:
  void Notify();
  void GiveUp();
  void StopTimer();

  Loop& loop_;
  const uint32_t wanted_;
  const Duration limit_;
  const Hooks hooks_;
  std::set<WorkerId> ready_;
  Time since_{};
  TimerId timer_ = 0;
  bool there_ = false;
};

}  // namespace motley
