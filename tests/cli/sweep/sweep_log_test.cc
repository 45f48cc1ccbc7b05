// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace motley {
namespace {

using testing::HasSubstr;

class SweepLogTest : public testing::Test {
 protected:
  SweepLogTest() {
    std::string folder = testing::TempDir() + "sweep-log-XXXXXX";
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/runs.jsonl";
    plan_.search.flags = {{"lr", std::vector<std::string>{"0.1", "0.2", "0.3"}}};
    plan_.search.epochs = 4;
    plan_.train = {{"data", "a.csv"}};
  }
  ~SweepLogTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<SweepLog>> Open() { return SweepLog::Open(path_, plan_); }
  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  void Append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  std::string folder_, path_;
  SweepPlan plan_;
};

SweptRun TrialOne() {
  return {.trial = 1, .epochs = 4, .values = {"0.2"}, .loss = 0.5, .seconds = 1.5};
}

TEST_F(SweepLogTest, ReadsWhatItWrote) {
  {
    const auto log = Open();
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    SweptRun failed{.trial = 2, .epochs = 4, .values = {"0.3"}};
    failed.loss = std::numeric_limits<double>::infinity();
    failed.error = "diverged";
    ASSERT_TRUE((*log)->Add(TrialOne()).ok());
    ASSERT_TRUE((*log)->Add(failed).ok());
  }
  Append("{\"trial\":0,\"ru");  // A line that was cut off.
  const auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  const std::vector<SweptRun>& runs = (*again)->earlier();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].values, (std::vector<std::string>{"0.2"}));
  EXPECT_EQ(runs[0].loss, 0.5);
  EXPECT_EQ(runs[1].error, "diverged");
}

TEST_F(SweepLogTest, OnlyResultsBindTheFileToASearch) {
  ASSERT_TRUE(Open().ok());
  plan_.search.epochs = 5;
  {
    const auto other = Open();
    ASSERT_TRUE(other.ok()) << other.status().ToString();
    SweptRun run = TrialOne();
    run.epochs = 5;
    ASSERT_TRUE((*other)->Add(run).ok());
  }
  EXPECT_EQ((*Open())->earlier().size(), 1u);
  plan_.search.epochs = 6;
  EXPECT_EQ(Open().status().code(), StatusCode::kConflict);
}

TEST_F(SweepLogTest, LeavesFilesOfOthersAlone) {
  for (const char* text : {"notes", "notes\n", "notes\nof others"}) {
    std::filesystem::remove(path_);
    Append(text);
    EXPECT_EQ(Open().status().code(), StatusCode::kConflict) << text;
    EXPECT_EQ(Text(), text);
  }
  std::filesystem::remove(path_);
  const std::string model = folder_ + "/trial-0001.safetensors";
  std::ofstream(model) << "theirs";
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_THAT(status.message(), HasSubstr("trial-0001.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  std::filesystem::remove(model);
  std::ofstream(folder_ + "/trial-plan.md") << "theirs, and in nobody's way";
  EXPECT_TRUE(Open().ok());
}

TEST_F(SweepLogTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const Status status = Open().status();
  EXPECT_EQ(status.code(), StatusCode::kConflict);
  EXPECT_THAT(status.message(), HasSubstr("runs.jsonl is not a regular file"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(Open().status().message(), HasSubstr("not a regular file"));
}

TEST_F(SweepLogTest, WritesItsPlanAgainWhereThatWasCutOff) {
  ASSERT_TRUE(Open().ok());
  const std::string plan = Text();
  std::filesystem::resize_file(path_, plan.size() / 2);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Text(), plan);
}

TEST_F(SweepLogTest, NamesTheLineThatIsDamaged) {
  const struct {
    const char* line;
    const char* message;
  } cases[] = {
      {R"({"trial":1,"rung":0,"epochs":4,"values":[],"loss":0.5,"seconds":1})",
       "not the values of trial 1"},
      {R"({"trial":1,"rung":0,"epochs":4,"values":["0.1"],"loss":0.5,"seconds":1})",
       "not the values of trial 1"},
      {R"({"trial":9,"rung":0,"epochs":4,"values":[],"loss":0.5,"seconds":1})",
       "not the values of trial 9"},
      {R"({"trial":0.7,"rung":0,"epochs":4,"values":["0.1"],"loss":0.5,"seconds":1})",
       "'trial' is not a whole number"},
      {R"({"trial":4294967296,"rung":0,"epochs":4,"values":["0.1"],"loss":0.5,"seconds":1})",
       "'trial' is not a whole number"},
      {R"({"trial":0,"rung":1,"epochs":4,"values":["0.1"],"loss":0.5,"seconds":1})",
       "run 1 of a trial"},
      {R"({"trial":0,"rung":0,"epochs":5,"values":["0.1"],"loss":0.5,"seconds":1})", "epoch 5"},
      {R"({"trial":0,"rung":0,"epochs":4,"values":["0.1"],"loss":null,"seconds":1})",
       "either a loss or an error"},
      {R"({"trial":0,"rung":0,"epochs":4,"values":["0.1"],"loss":"x","seconds":1})",
       "not the result of a run"},
      {R"({"trial":1,"rung":0,"epochs":4,"values":["0.2"],"loss":0.4,"seconds":1})", "twice"},
      {"[1]", "not the result of a run"},
      {"{", "not the result of a run"},
  };
  for (const auto& each : cases) {
    std::filesystem::remove(path_);
    ASSERT_TRUE((*Open())->Add(TrialOne()).ok());
    Append(each.line + std::string("\n"));
    const Status status = Open().status();
    EXPECT_EQ(status.code(), StatusCode::kDataError) << each.line;
    EXPECT_THAT(status.message(), HasSubstr(path_ + ":3: "));
    EXPECT_THAT(status.message(), HasSubstr(each.message));
    EXPECT_THAT(status.message(), HasSubstr("Remove this line"));
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("json.exception")));
  }
}

}  // namespace
}  // namespace motley
