// SPDX-License-Identifier: Apache-2.0
#include "api/reports/live_metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace motley {
namespace {

using std::chrono::seconds;

class LiveMetricsOfAWorker : public testing::Test {
 protected:
  LiveMetricsOfAWorker() { Join(); }
  void Join() { metrics_.OnEvent(event::WorkerJoined{1, name_}); }
  void Notice(const JobNotice& notice) { metrics_.OnEvent(event::Noticed{notice}); }
  void Cancel(bool held) { metrics_.OnEvent(event::CommandGiven{CancelWork{1, 5, held}, Time()}); }
  uint32_t state() const { return metrics_.Worker(1)->state; }

  const std::string name_ = "pc";
  LiveMetrics metrics_;
};

TEST_F(LiveMetricsOfAWorker, IsLateFromItsSilenceToItsReturn) {
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_UP});
  Notice(notice::Silent{1, seconds(1)});
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_LATE});
  Notice(notice::Quiet{1, seconds(3)});
  Notice(notice::AnswersAgain{1});
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_LATE});
  Notice(notice::Back{1, seconds(4)});
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_UP});
}

TEST_F(LiveMetricsOfAWorker, ThatIsLostIsNoLongerLate) {
  Notice(notice::Silent{1, seconds(1)});
  const Status why = Status::Unavailable("connection reset");
  metrics_.OnEvent(event::WorkerLost{1, why});
  Notice(notice::AnswersAgain{1});
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_LOST});
  Notice(notice::Silent{1, seconds(1)});
  Join();
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_UP});
}

TEST_F(LiveMetricsOfAWorker, AnAnswerThatWasHeldIsNotLate) {
  Cancel(/*held=*/true);
  EXPECT_EQ(metrics_.Worker(1)->late, 0u);
  Cancel(/*held=*/false);
  EXPECT_EQ(metrics_.Worker(1)->late, 1u);
}

TEST_F(LiveMetricsOfAWorker, NoticesOfOthersDoNotCount) {
  Notice(notice::Silent{0, seconds(1)});
  EXPECT_EQ(state(), uint32_t{MOTLEY_WORKER_UP});
  EXPECT_EQ(metrics_.Worker(0).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace motley
