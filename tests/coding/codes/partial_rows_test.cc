// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/partial_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "coding/codes/partial_coded_code.h"
#include "coding/decode/stream_decoder.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

using ::testing::IsEmpty;

std::vector<CodeRequest> Requests() {
  std::vector<CodeRequest> requests;
  for (CodeRequest request : UsualRequests(3)) {
    for (const uint32_t parts : {1, 2, 3}) {
      request.parts = parts;
      if (request.stragglers + parts <= request.speeds.size()) requests.push_back(request);
    }
  }
  return requests;
}

std::shared_ptr<const CodeForm> Form(const CodeRequest& request) {
  return std::make_shared<const CodeForm>(MustBuild("partial-coded", request));
}

// The error of a job's sum through the decoder that jobs use, with all answers in slices.
double ErrorOf(const CodeForm& answers) {
  const CodedJob job = MakeJob(answers, 38, 3);
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(answers, job.sum.size(), 10, *parallel);
  for (RowId row = 0; row < answers.workers; ++row) {
    if (answers.rows[row].empty()) continue;
    EXPECT_FALSE(decoder.Decodable()) << "every answer is needed";
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      const float* from = job.answers[row].data() + decoder.slice_begin(slice);
      AlignedVector values(from, from + decoder.slice_length(slice));
      EXPECT_TRUE(decoder.AddSlice(row, slice, values, 1e9).ok());
    }
  }
  std::vector<float> sum(job.sum.size());
  const Status finished = decoder.Finish(sum);
  EXPECT_TRUE(finished.ok()) << finished.ToString();
  return RelativeError(sum, job.sum);
}

size_t HoldersOf(const CodeForm& form, RowId row) {
  size_t count = 0;
  for (const auto& list : form.lists) {
    count += static_cast<size_t>(std::count(list.begin(), list.end(), row));
  }
  return count;
}

TEST(PartialCodedCode, EveryChunkIsOnAsManyListsAsItTakes) {
  for (const CodeRequest& request : Requests()) {
    SCOPED_TRACE(Describe(request));
    const CodeForm form = MustBuild("partial-coded", request);
    ASSERT_TRUE(Validate(form).ok()) << Validate(form).ToString();
    EXPECT_GE(form.kept_parts, 1u);
    EXPECT_LE(form.kept_parts, request.parts);
    EXPECT_EQ(form.parts, 1u);
    for (RowId row = 0; row < form.workers; ++row) {
      EXPECT_EQ(HoldersOf(form, row), request.stragglers + form.kept_parts);
    }
    for (const auto& list : form.lists) {
      EXPECT_LE(list.size(), std::max(kMostKept, request.stragglers + request.parts));
    }
  }
}

TEST(PartialCodedCode, HalvesTakeOneHolderToSpareWhereWorkersAreEqual) {
  for (uint32_t workers = 3; workers <= 40; ++workers) {
    EXPECT_EQ(MustBuild("partial-coded", EqualRequest(workers, 1, 4 * workers)).kept_parts, 2u)
        << workers << " workers";
  }
}

TEST(PartialCodedCode, RequestsThatCannotBeServedAreRefused) {
  CodeRequest request = EqualRequest(4, 2, 16);
  request.parts = 3;
  EXPECT_EQ(BuildCode("partial-coded", request).code(), StatusCode::kInvalidArgument);
  request.parts = 0;
  EXPECT_EQ(BuildCode("partial-coded", request).code(), StatusCode::kInvalidArgument);
}

TEST(PartialCodedCode, AFormThatIsKeptHasLists) {
  CodeForm form = MustBuild("none", EqualRequest(4, 0, 8));
  form.kept_parts = 1;
  EXPECT_EQ(Validate(form).code(), StatusCode::kInvalidArgument);
  form = MustBuild("partial-coded", EqualRequest(4, 1, 8));
  form.kept_parts = 1;
  EXPECT_EQ(Validate(form).code(), StatusCode::kInvalidArgument) << "a row is on too many lists";
}

// Workers progress at random. As soon as every row is solved, the answers form a code for the sum.
TEST(PartialRows, TheSumIsExactOnceAllRowsAreSolved) {
  for (const CodeRequest& request : Requests()) {
    SCOPED_TRACE(Describe(request));
    const auto form = Form(request);
    Random random(1, Stream::kTest, form->workers);
    PartialRows rows;
    rows.Open(form);
    std::vector<size_t> next(form->owners(), 0);
    std::vector<bool> solved(form->workers, false);
    while (std::find(solved.begin(), solved.end(), false) != solved.end()) {
      const auto worker = static_cast<WorkerId>(random.Below(form->owners()));
      if (next[worker] == form->lists[worker].size()) continue;
      const RowId row = form->lists[worker][next[worker]++];
      EXPECT_FALSE(rows.Has(worker, row));
      solved[row] = rows.Done(worker, row);
      EXPECT_TRUE(rows.Has(worker, row));
    }
    const auto answers = rows.Answers(std::vector<bool>(form->owners(), true));
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    EXPECT_TRUE(Validate(*answers).ok()) << Validate(*answers).ToString();
    EXPECT_EQ(answers->parts, form->kept_parts);
    for (WorkerId worker = 0; worker < form->owners(); ++worker) {
      EXPECT_EQ(answers->rows[worker].empty(), next[worker] == 0)
          << "workers that computed nothing have no row";
    }
    EXPECT_LE(ErrorOf(*answers), 5e-6);
  }
}

TEST(PartialRows, SleepingWorkersAreAskedOnlyIfNecessary) {
  const auto form = Form(EqualRequest(4, 1, 16));
  PartialRows rows;
  rows.Open(form);
  for (WorkerId worker = 0; worker < 4; ++worker) {
    for (const RowId row : form->lists[worker]) rows.Done(worker, row);
  }
  std::vector<bool> awake(4, true);
  awake[2] = false;
  EXPECT_TRUE(rows.Answers(awake).value().rows[2].empty());
  awake[1] = false;
  const CodeForm both = rows.Answers(awake).value();
  EXPECT_FALSE(both.rows[1].empty() && both.rows[2].empty())
      << "some rows have no two other holders";
  EXPECT_LE(ErrorOf(both), 5e-6);
}

TEST(PartialRows, UnsolvedRowsGoToFurtherHolders) {
  for (const CodeRequest& request : Requests()) {
    SCOPED_TRACE(Describe(request));
    const auto form = Form(request);
    PartialRows rows;
    rows.Open(form);
    const auto answers = rows.Answers(std::vector<bool>(form->owners(), false));
    ASSERT_TRUE(answers.ok()) << answers.status().ToString();
    EXPECT_LE(ErrorOf(*answers), 5e-6);
  }
}

TEST(PartialRows, LostRowsAreNoLongerSolved) {
  const auto form = Form(EqualRequest(4, 1, 16));
  PartialRows rows;
  rows.Open(form);
  const RowId row = form->lists[0][0];
  std::vector<WorkerId> holders;
  for (WorkerId worker = 0; worker < 4; ++worker) {
    const auto& list = form->lists[worker];
    if (std::find(list.begin(), list.end(), row) != list.end()) holders.push_back(worker);
  }
  ASSERT_EQ(holders.size(), 3u);
  EXPECT_FALSE(rows.Done(holders[0], row));
  EXPECT_FALSE(rows.Done(holders[0], row)) << "a repeated report counts once";
  EXPECT_TRUE(rows.Done(holders[1], row));
  EXPECT_THAT(rows.Lose(holders[2]), IsEmpty());
  EXPECT_EQ(rows.Lose(holders[0]), std::vector<RowId>{row});
  EXPECT_FALSE(rows.Has(holders[0], row));
  EXPECT_TRUE(rows.Done(holders[2], row));
  rows.Open(form);
  EXPECT_FALSE(rows.Has(holders[2], row)) << "a new step has begun";
}

}  // namespace
}  // namespace motley
