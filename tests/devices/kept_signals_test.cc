// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/kept_signals.h"

#include <gtest/gtest.h>

#include <optional>

namespace motley {
namespace {

void Nothing(int) {}

using Handler = void (*)(int);
Handler HandlerOf(int number) {
  struct sigaction now {};
  sigaction(number, nullptr, &now);
  return now.sa_handler;
}

TEST(KeptSignals, HandlersOfLibrariesAreUndone) {
  signal(SIGINT, SIG_IGN);
  // nohup may have changed them.
  for (const int number : {SIGHUP, SIGTERM}) signal(number, SIG_DFL);
  std::optional<KeptSignals> kept(std::in_place);
  for (const int number : {SIGINT, SIGHUP, SIGTERM, SIGFPE}) signal(number, Nothing);
  kept.reset();
  EXPECT_EQ(HandlerOf(SIGINT), SIG_IGN);
  EXPECT_EQ(HandlerOf(SIGHUP), SIG_DFL);
  EXPECT_EQ(HandlerOf(SIGTERM), SIG_DFL);
  EXPECT_EQ(HandlerOf(SIGFPE), Nothing) << "drivers may use the processor's faults";
  signal(SIGINT, SIG_DFL);
  signal(SIGFPE, SIG_DFL);
}

TEST(KeptSignals, AHandlerKeepsItsFlags) {
  struct sigaction mine {};
  mine.sa_handler = Nothing;
  mine.sa_flags = SA_RESTART;
  sigaddset(&mine.sa_mask, SIGHUP);
  sigaction(SIGUSR1, &mine, nullptr);
  {
    const KeptSignals kept;
    signal(SIGUSR1, SIG_IGN);
  }
  struct sigaction now {};
  sigaction(SIGUSR1, nullptr, &now);
  EXPECT_EQ(now.sa_handler, Nothing);
  EXPECT_EQ(now.sa_flags & SA_RESTART, SA_RESTART);
  EXPECT_EQ(sigismember(&now.sa_mask, SIGHUP), 1);
  signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace motley
