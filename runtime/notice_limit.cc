// SPDX-License-Identifier: Apache-2.0
#include "runtime/notice_limit.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr double kAtOnce = 8;
constexpr double kPerSecond = 0.1;

}  // namespace

std::optional<uint64_t> NoticeLimit::Pass(WorkerId worker, Time now) {
  Seat& seat = seats_[worker];
  const double since = seat.any ? ToSeconds(now - seat.when) * kPerSecond : kAtOnce;
  seat.any = true;
  seat.when = now;
  seat.allowance = std::min(kAtOnce, seat.allowance + since);
  if (seat.allowance < 1) {
    ++seat.left_out;
    return std::nullopt;
  }
  seat.allowance -= 1;
  return std::exchange(seat.left_out, 0);
}

}  // namespace motley
