// SPDX-License-Identifier: Apache-2.0
#include "cli/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/report.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json Report() {
  return {{"steps", 6},
          {"epochs", 2.0},
          {"wall_seconds", 2.0},
          {"steps_per_second", 3.0},
          {"samples_per_second", 250.0},
          {"step_seconds", {{"median", 0.2}, {"p99", 0.3}, {"max", 0.4}, {"max_step", 5}}},
          {"discarded_steps", 1},
          {"max_decode_error", nullptr},
          {"audited_steps", 4},
          {"code", "repetition"},
          {"tolerate", 1},
          {"data_transfers", 7},
          {"replans", 2},
          {"rows_reassigned", 5},
          {"workers",
           {{{"worker", 0},
             {"name", "worker-0"},
             {"relative_speed", 0.25},
             {"share", 1.5},
             {"samples", 300.0},
             {"held_bytes", 2000000},
             {"steps_in_time", 6},
             {"late", 1},
             {"lost", true},
             {"left", false}}}}};
}

TEST(Table, NumbersLineUpOnTheRight) {
  Table table({"name", "n"});
  table.Add({"a", "1"});
  table.Add({"longer", "1000"});
  EXPECT_EQ(table.Format(), "name       n\na          1\nlonger  1000\n");
}

TEST(TrainTable, ShowsWhatTheReportSays) {
  const std::string text = TrainTable(Report().dump());
  for (const char* part :
       {"worker-0   0.25", "150.0", "yes", "2.00\n", "code repetition, tolerates 1",
        "7 data transfers, 2 new plans, 5 rows", "6 steps (2.00 epochs) in 2.00 s",
        "median 200.0 ms, p99 300.0 ms, slowest step 400.0 ms (step 5); 1 discarded",
        "nan in 4 checked steps"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(TrainTable, HasOneOfAThing) {
  nlohmann::json report = Report();
  for (const char* key :
       {"steps", "data_transfers", "replans", "rows_reassigned", "audited_steps"}) {
    report[key] = 1;
  }
  const std::string text = TrainTable(report.dump());
  EXPECT_THAT(text, HasSubstr("; 1 data transfer, 1 new plan, 1 row reassigned\n1 step ("));
  EXPECT_THAT(text, HasSubstr(" in 1 checked step\n"));
}

TEST(TrainTable, HasTheNumbersThatMessagesCallWorkersBy) {
  nlohmann::json report = Report();
  report["workers"][0].update({{"worker", 3}, {"name", "pc2"}, {"lost", false}, {"left", true}});
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("3 pc2    0.25"));
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("left"));
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("\n(speed 1 is the fastest worker's)\n"));
}

// Speeds are then the noise of the last few steps.
TEST(TrainTable, HasNoSpeedsIfStepsAreVeryShort) {
  nlohmann::json report = Report();
  report["step_seconds"]["median"] = 0.0009;
  const std::string text = TrainTable(report.dump());
  EXPECT_THAT(text, HasSubstr("worker    share %  "));
  EXPECT_THAT(text, HasSubstr("worker-0    150.0  "));
  EXPECT_THAT(text, HasSubstr("\n(no speeds: steps of less than 1 ms are too short to measure"));
  for (uint32_t i = 1; i < 40; ++i) report["workers"].push_back(report["workers"][0]);
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("and 32 more: 40 workers, 40 lost; "));
  report["sync"] = "asp";
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("speed")) << "a worker takes longer";
  report["sync"] = "bsp";
  report["step_seconds"]["median"] = 0;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("speed")) << "no step was done";
}

TEST(TrainTable, SaysWhatAJobThatEndedEarlyOrWasResumedCounts) {
  nlohmann::json report = Report();
  EXPECT_THAT(TrainTable(report.dump()), Not(HasSubstr("stopped")));
  report.update({{"stopped_early", "a signal"}, {"steps_wanted", 90}});
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("stopped after 6 of 90 steps: a signal\n"));
  report.update({{"resumed_from", 4}, {"run_seconds", 0.5}});
  EXPECT_THAT(TrainTable(report.dump()),
              HasSubstr("in 2.00 s in all runs, 0.50 s in this one, from step 4 on: "));
}

TEST(AuditFailure, SaysWhereWrongAnswersWereFound) {
  nlohmann::json report = {{"audit", {{"steps", 1}, {"failures", 0}, {"warnings", {}}}}};
  EXPECT_EQ(AuditFailure(report.dump()), "");
  report["audit"]["failures"] = 1;
  report["audit"]["warnings"] = nlohmann::json::array({{{"step", 7}}});
  EXPECT_THAT(AuditFailure(report.dump()),
              HasSubstr("audits of 1 step found 1 wrong answer, the first in step 7: "));
  report["audit"] = {{"steps", 20}, {"failures", 3}, {"warnings", nlohmann::json::array()}};
  EXPECT_THAT(AuditFailure(report.dump()),
              HasSubstr("audits of 20 steps found 3 wrong answers, all in runs before this one: "));
}

TEST(TrainTable, SaysWhatIsToleratedAtTheEndWhenThatIsLess) {
  nlohmann::json report = Report();
  report["tolerate_at_end"] = 1;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("tolerates 1; "));
  report["tolerate_at_end"] = 0;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("tolerates 1 (0 at the end); "));
}

TEST(CheckpointError, IsThatOfTheReport) {
  nlohmann::json report = Report();
  EXPECT_EQ(CheckpointError(report.dump()), "");
  report["checkpoint"] = {{"step", 3}, {"written", 1}, {"failed", 0}};
  EXPECT_EQ(CheckpointError(report.dump()), "");
  report["checkpoint"]["error"] = "the disk is full";
  EXPECT_EQ(CheckpointError(report.dump()), "the disk is full");
  EXPECT_EQ(CheckpointWeakness(report.dump()), "");
  report["checkpoint"]["degraded"] = "one shard less";
  EXPECT_EQ(CheckpointWeakness(report.dump()), "one shard less");
}

TEST(TrainTable, ShowsTheLossesThatThereAre) {
  nlohmann::json report = Report();
  report["batch_loss"] = 0.25;
  report["last_epoch_loss"] = 0.75;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("last epoch's loss 0.75 (mean over its steps)"));
  report["final_loss"] = 0.5;
  report["test_loss"] = 0.6;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("final loss 0.5, test loss 0.6"));
  EXPECT_THAT(TrainTable(report.dump()), Not(HasSubstr("accuracy")));
  report["test_accuracy"] = 0.85;
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("final loss 0.5, test accuracy 85.00 %"));
}

TEST(TrainTable, SaysWhyThereAreNoScores) {
  nlohmann::json report = Report();
  EXPECT_THAT(TrainTable(report.dump()), Not(HasSubstr("no scores")));
  report["not_tested"] = "the job was stopped, and 9 test samples take more than a moment";
  EXPECT_THAT(TrainTable(report.dump()),
              HasSubstr("\ntest: no scores, because the job was stopped, "
                        "and 9 test samples take more than a moment; "));
}

TEST(TrainTable, ShowsScoresAndHowTheJobEnded) {
  nlohmann::json report = Report();
  EXPECT_THAT(TrainTable(report.dump()), Not(HasSubstr("stopped")));
  report["stopped_early"] = "nothing was gained";
  report["steps_wanted"] = 90;
  report["judging"] = {{"kept_best", true}, {"best_step", 40}, {"evaluations", 7}, {"samples", 30}};
  report["test"] = {{"count", 5},
                    {"loss", 0.5},
                    {"accuracy", 0.8},
                    {"f1", 0.75},
                    {"confusion", {{"matrix", {{3, 1}, {0, 1}}}, {"labels", {-1, 2.5}}}}};
  const std::string table = TrainTable(report.dump());
  EXPECT_THAT(table, HasSubstr("stopped after 6 of 90 steps: nothing was gained\n"));
  EXPECT_THAT(table, HasSubstr("the model is that of step 40, the best of 7 evaluations on 30"));
  EXPECT_THAT(table, HasSubstr("test: accuracy 80.00 %, F1 0.75\n"));
  EXPECT_THAT(table, HasSubstr("class  -1  2.5\n-1      3    1\n2.5     0    1\n"));
  report["test"] = {{"count", 5}, {"loss", 0.5}, {"r2", 0.9}, {"rmse", 1.5}, {"mae", nullptr}};
  EXPECT_THAT(TrainTable(report.dump()), HasSubstr("test: R2 0.9, RMSE 1.5, MAE nan\n"));
}

}  // namespace
}  // namespace motley
