// SPDX-License-Identifier: Apache-2.0
#include "reproduce/worker_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace motley {
namespace {

using testing::HasSubstr;

class WorkerTraceFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + ".csv");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<WorkerTrace> Read(const std::string& lines) {
    std::ofstream(path_) << "load,round,worker,seconds\n" << lines;
    return ReadWorkerTrace(path_.string());
  }
  void Refuse(const std::string& lines, const std::string& words) {
    const auto trace = Read(lines);
    ASSERT_FALSE(trace.ok()) << lines;
    EXPECT_EQ(trace.code(), StatusCode::kDataError);
    EXPECT_THAT(trace.status().ToString(), HasSubstr(words));
    EXPECT_THAT(trace.status().ToString(), HasSubstr(path_.string()));
  }

  std::filesystem::path path_;
};

TEST_F(WorkerTraceFile, IsReadInAnyOrder) {
  const auto trace = Read("0.5,0,1,4\n0,0,0,1\n0,0,1,2\n0.5,0,0,3\n");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_EQ(trace->rounds, 1U);
  EXPECT_EQ(trace->workers, 2U);
  EXPECT_EQ(trace->loads, (std::vector<double>{0, 0.5}));
  EXPECT_EQ(trace->Seconds(1, 0, 0), 3);
  EXPECT_EQ(trace->Seconds(0, 0, 1), 2);
  EXPECT_DOUBLE_EQ(trace->SecondsPerLoad(), 4);  // The means are 1.5 and 3.5.
  EXPECT_EQ(trace->Round(0, 0.25), (std::vector<double>{2, 3}));
}

TEST_F(WorkerTraceFile, OneLoadHasNoSlope) {
  const auto trace = Read("0,0,0,1\n0,0,1,2\n");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->SecondsPerLoad(), 0);
}

TEST_F(WorkerTraceFile, WhatIsWrongIsNamed) {
  Refuse("0,0,0,1\n0,0,1\n", ":3");
  Refuse("0,0,0,1,9\n", ":2");
  Refuse("0,0,0,fast\n", "'fast'");
  Refuse("0,0,0,-1\n", "must be at least 0");
  Refuse("0,0.5,0,1\n", "whole numbers");
  Refuse("0,0,99999999,1\n", "below a million");
  Refuse("0,0,0,1\n0,1,1,1\n", "2 lines");
  Refuse("0,0,0,1\n0,0,0,1\n0,0,1,1\n0,1,0,1\n", "twice");
  Refuse("", "0 lines");
}

TEST(WorkerTrace, MissingFileIsNamed) {
  const auto trace = ReadLambdaTrace("/nowhere");
  ASSERT_FALSE(trace.ok());
  EXPECT_EQ(trace.code(), StatusCode::kNotFound);
  EXPECT_THAT(trace.status().ToString(), HasSubstr("/nowhere/traces/lambda256.csv.gz"));
}

}  // namespace
}  // namespace motley
