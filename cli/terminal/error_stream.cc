// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/error_stream.h"

#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "fmt/core.h"

namespace motley {
namespace {

constexpr int kTimeoutMs = 200;

// True if PIPE_BUF bytes can be written at once, or if the reader is gone; writing then fails at
// once.
bool HasRoom(int timeout_ms) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  return poll(&out, 1, timeout_ms) > 0;
}

}  // namespace

void WriteToErrorStream(std::string_view text) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  static bool stuck = false;
  static uint64_t left_out = 0;
  if (!HasRoom(stuck ? 0 : kTimeoutMs)) {
    stuck = true;
    ++left_out;
    return;
  }
  stuck = false;
  std::string all;
  if (const uint64_t before = std::exchange(left_out, 0); before > 0) {
    all = fmt::format("motley: {} messages were left out, because nobody read standard error\n",
                      before);
  }
  all += text;
  for (std::string_view rest = all; !rest.empty();) {
    const ssize_t written =
        write(STDERR_FILENO, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // An error here could not be shown anywhere.
    rest.remove_prefix(static_cast<size_t>(written));
    if (rest.empty() || HasRoom(kTimeoutMs)) continue;
    stuck = true;
    ++left_out;
    return;
  }
}

std::string TimeStamp() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  localtime_r(&now.tv_sec, &local);
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} ", local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     now.tv_nsec / 1'000'000);
}

}  // namespace motley
