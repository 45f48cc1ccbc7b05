// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/sweep_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/core.h"

namespace motley {
namespace {

using testing::HasSubstr;

constexpr const char* kTrain = "[train]\ndata = \"a.csv\"\nvalidation = 0.2\nremember = true\n";

Result<SweepPlan> Read(const std::string& sweep, const std::string& tried) {
  return ParseSweep(std::string(kTrain) + "[sweep]\n" + sweep + "[try]\n" + tried, "s.toml");
}

TEST(SweepFile, ReadsEveryKey) {
  const auto plan = Read(
      "method = \"asha\"\ntrials = 5\nepochs = 27\nfirst_epochs = 3\nkeep = 4\nseed = 2\n"
      "at_once = 6\ndevices = [\"cpu\", \"opencl:0\"]\n",
      "lr = { from = 0.001, to = 0.1, scale = \"log\" }\nbatch = [16, 32]\n"
      "width = { from = 1, to = 9, whole = true }\n");
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const SearchPlan& search = plan->search;
  EXPECT_EQ(search.method, SearchMethod::kAsha);
  EXPECT_EQ(search.trials, 5u);
  EXPECT_EQ(search.epochs, 27u);
  EXPECT_EQ(search.first_epochs, 3u);
  EXPECT_EQ(search.keep, 4u);
  EXPECT_EQ(search.seed, 2u);
  EXPECT_EQ(plan->at_once, 6u);
  EXPECT_EQ(plan->devices, (std::vector<std::string>{"cpu", "opencl:0"}));
  EXPECT_EQ(plan->Train("data"), "a.csv");
  EXPECT_EQ(plan->Train("validation"), "0.2");
  ASSERT_EQ(search.flags.size(), 3u);
  EXPECT_EQ(search.flags[0].name, "batch");
  EXPECT_EQ(std::get<std::vector<std::string>>(search.flags[0].values),
            (std::vector<std::string>{"16", "32"}));
  const auto& rate = std::get<DrawnRange>(search.flags[1].values);
  EXPECT_EQ(rate.from, 0.001);
  EXPECT_TRUE(rate.logarithmic);
  EXPECT_FALSE(rate.whole);
  EXPECT_TRUE(std::get<DrawnRange>(search.flags[2].values).whole);
}

TEST(SweepFile, NamesTheLineOfWhatIsWrong) {
  const struct {
    const char* sweep;
    const char* tried;
    const char* message;
  } cases[] = {
      {"method = \"gird\"\n", "lr = [1]\n", "s.toml:6:10: 'method' is gird"},
      {"method = \"random\"\n", "lr = [1]\n", "'trials' is missing"},
      {"trails = 4\n", "lr = [1]\n", "unknown key 'trails'"},
      {"", "lr = { from = 1, to = 2 }\n", "a grid needs a list"},
      {"", "lr = []\n", "'lr' has no values"},
      {"", "lr = [[1]]\n", "a value must be a text or a number"},
      {"", "lr = 0.1\n", "must be a list of values, or a range"},
      {"", "validation = [0.1]\n", "'validation' is in [train], too"},
      {"", "epochs = [1, 2]\n", "'epochs' is set by motley sweep; leave it out, or set it in"},
      {"", "out = [\"a\"]\n", "'out' is set by motley sweep; leave it out"},
      {"method = \"asha\"\ntrials = 2\n", "schedule = [\"constant\", \"cosine:warmup=5\"]\n",
       "s.toml:9:25: schedule cosine:warmup=5 follows the length of a training"},
      {"", "", "[try] has no flag"},
      {"keep = 1\n", "lr = [1]\n", "'keep' must be at least 2"},
      {"devices = [1]\n", "lr = [1]\n", "'devices' must be a list"},
      {"method = \"random\"\ntrials = 2\n", "lr = { from = 2, to = 1 }\n", "'from' must be below"},
      {"method = \"random\"\ntrials = 2\n", "lr = { from = 0, to = 1, scale = \"log\" }\n",
       "above 0 on a log scale"},
      {"method = \"asha\"\ntrials = 2\nepochs = 2\nfirst_epochs = 3\n", "lr = [1]\n",
       "first_epochs 3 is above epochs 2"},
      {"method = \"random\"\ntrials = 2\n", "lr = { from = 1, to = 2, whole = \"yes\" }\n",
       "'whole' must be true or false"},
      {"method = \"random\"\ntrials = 2\n", "lr = { from = 1, to = 2, whole = 1 }\n",
       "'whole' must be true or false"},
      {"method = \"random\"\ntrials = 2\n", "lr = { from = 0.2, to = 0.4, whole = true }\n",
       "'lr': there is no whole number from 0.2 to 0.4"},
      {"", "model = [\"mlp:8\", \"\"]\n", "s.toml:7:19: 'model' is an empty text"},
      {"method = \"asha\"\ntrials = 2\n", "sync = [\"backup:1\", \"local:2\"]\n",
       "method asha goes on from checkpoints, and a job with sync local:2 has none; use method "
       "grid"},
      {"", "patience = [3, 0]\n", "'patience' is 0"},
  };
  for (const auto& each : cases) {
    const Status status = Read(each.sweep, each.tried).status();
    EXPECT_EQ(status.code(), StatusCode::kDataError);
    EXPECT_THAT(status.message(), HasSubstr(each.message));
  }
  EXPECT_THAT(ParseSweep("[sweep]\n[try]\n", "s").status().message(), HasSubstr("'train'"));
  EXPECT_THAT(ParseSweep("[train]\n[sweep]\n[try]\nlr=[1]\n", "s").status().message(),
              HasSubstr("'data' is missing"));
  for (const char* none : {"0", "0.0", "\"0\""}) {
    const auto plan = ParseSweep(
        fmt::format("[train]\ndata = \"a\"\nvalidation = {}\n[sweep]\n[try]\nlr = [1]\n", none),
        "s");
    EXPECT_THAT(plan.status().message(), HasSubstr("s:3:14: 'validation' is 0"));
  }
  EXPECT_THAT(ParseSweep("[train]\ndata = \"a\"\ninit = \"\"\n[sweep]\n[try]\nlr = [1]\n", "s")
                  .status()
                  .message(),
              HasSubstr("s:3:8: 'init' is an empty text"));
  const auto asynchronous = ParseSweep(
      "[train]\ndata = \"a\"\nsync = \"asp\"\n[sweep]\nmethod = \"asha\"\ntrials = 2\n[try]\nlr = "
      "[1]\n",
      "s");
  EXPECT_THAT(asynchronous.status().message(), HasSubstr("s:3:8: method asha"));
  EXPECT_THAT(ParseSweep("[train\n", "s").status().message(), HasSubstr("s:1:"));
}

TEST(SweepFile, RefusesFlagsThatTrialsCannotHave) {
  const std::pair<const char*, const char*> cases[] = {
      {"resume-step", "'resume-step' is set by motley sweep"},
      {"log", "'log' names a file, which all trials would write"},
      {"curve", "'curve' names a file"},
      {"trace", "'trace' names a file"},
      {"record-profile", "'record-profile' names a file"},
      {"wait", "'wait' is for workers elsewhere"},
      {"min-workers", "'min-workers' is for workers elsewhere"},
      {"no-local-worker", "'no-local-worker' is for workers elsewhere"},
      {"help", "'help' trains nothing"},
  };
  for (const auto& [flag, message] : cases) {
    const std::string text = fmt::format("{} = [1]\n", flag);
    EXPECT_THAT(Read("", text).status().message(),
                HasSubstr(std::string("s.toml:7:1: ") + message));
  }
}

TEST(SweepFile, RefusesAGridThatWouldTakeForever) {
  std::string tried;
  for (char flag = 'a'; flag < 'k'; ++flag) {
    tried += std::string(1, flag) + " = [1,2,3,4,5,6,7,8,9,10]\n";
  }
  EXPECT_THAT(Read("", tried).status().message(), HasSubstr("the grid has 10000000000 trials"));
}

}  // namespace
}  // namespace motley
