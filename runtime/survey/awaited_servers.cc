// SPDX-License-Identifier: Apache-2.0
#include "runtime/survey/awaited_servers.h"

#include <fmt/format.h>

#include <utility>

#include "base/counted.h"

namespace motley {

AwaitedServers::AwaitedServers(Loop& loop, uint32_t wanted, Duration limit, Hooks hooks)
    : loop_(loop), wanted_(wanted), limit_(limit), hooks_(std::move(hooks)) {}

AwaitedServers::~AwaitedServers() { StopTimer(); }

void AwaitedServers::StopTimer() {
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
}

void AwaitedServers::Start() {
  if (!waiting()) return;
  StopTimer();
  since_ = loop_.Now();
  timer_ = loop_.After(limit_, [this] {
    timer_ = 0;
    GiveUp();
  });
  Notify();
}

void AwaitedServers::Notify() {
  const auto joined = static_cast<uint32_t>(ready_.size());
  hooks_.notice(notice::AwaitsShardServers{joined, wanted_, since_ + limit_ - loop_.Now()});
}

void AwaitedServers::GiveUp() {
  hooks_.failed(Status::Unavailable(fmt::format(
      "{} of {} joined within {:.0f} s: start more (motley server --shard), or use `reduce` "
      "sharded:S with fewer",
      ready_.size(), Counted(wanted_, "shard server"), ToSeconds(limit_))));
}

void AwaitedServers::Ready(WorkerId node) {
  if (wanted_ == 0) return;
  ready_.insert(node);
  if (timer_ == 0) return;
  if (waiting()) return Notify();
  StopTimer();
  if (!std::exchange(there_, true)) hooks_.there();
}

void AwaitedServers::Lost(WorkerId node) {
  ready_.erase(node);
  if (there_ && !hooks_.placed()) Start();
}

}  // namespace motley
