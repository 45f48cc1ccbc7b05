// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/link_watch.h"

#include "runtime/links/messages.h"

namespace motley {
namespace {

constexpr Duration kAskEvery = std::chrono::milliseconds(20);

}  // namespace

void LinkWatch::Ask(uint64_t bytes) {
  const Time now = loop_.Now();
  if (waits_ || (id_ != 0 && now - asked_ < kAskEvery)) return;
  behind_ = bytes > 0 && !behind_;
  bytes_ = behind_ ? bytes : 0;
  waits_ = true;
  asked_ = now;
  wire::ProbeT probe;
  probe.id = ++id_;
  SendControl(transport_, peer_, header_, probe, behind_ ? Priority::kBulk : Priority::kControl);
}

void LinkWatch::OnAnswer(const wire::ProbeT& probe) {
  if (!probe.answer || !waits_ || probe.id != id_) return;
  waits_ = false;
  tell_(bytes_, loop_.Now() - asked_);
}

}  // namespace motley
