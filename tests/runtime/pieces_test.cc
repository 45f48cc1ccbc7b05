// SPDX-License-Identifier: Apache-2.0
// The small parts of the nodes: slicing, counting, assembling, pumping events.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/audit/audit.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/links/messages.h"
#include "runtime/saving/job_record.h"
#include "runtime/worker/worker_inbox.h"
#include "tests/training/test_data.h"

namespace motley {
namespace {

TEST(PartitionCount, IsFineEnoughAndNeverMoreThanSamples) {
  EXPECT_EQ(PartitionCount(10'000, 1).value(), 64u);
  EXPECT_EQ(PartitionCount(10'000, 8).value(), 128u);
  EXPECT_EQ(PartitionCount(100, 8).value(), 100u);
  EXPECT_EQ(PartitionCount(8, 8).value(), 8u);
  EXPECT_EQ(PartitionCount(7, 8).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PartitionCount(7, 0).code(), StatusCode::kInvalidArgument);
}

TEST(PartitionCount, FollowsTheBytesOfLargeData) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const auto count = [](const DataShape& data) { return PartitionCount(data, 4).value(); };
  // Up to 16 GiB the sizes make no difference, so jobs that were saved or simulated before stay
  // valid.
  EXPECT_EQ(count({.rows = 4 * kMiB, .features = 1000}), 64u);
  EXPECT_EQ(count({.rows = 4 * kMiB, .features = 4000}), 251u);
  EXPECT_EQ(count({.rows = 4 * kMiB, .features = 100'000'000, .sparse = true}), 64u);
  EXPECT_EQ(count({.rows = 4 * kMiB, .features = 50, .sparse = true, .entries = 4096 * kMiB}),
            129u);
  EXPECT_EQ(count({.rows = 100, .features = 100'000'000}), 100u);  // One sample in each.
  EXPECT_EQ(count({.rows = ~uint32_t{0}}), 64u);                   // The caller has the samples.
  for (const bool sparse : {false, true}) {
    const Dataset data = MakeSamples(5, 3, sparse, 20, 1);
    const DataShape shape = MemorySource(data).shape();
    EXPECT_EQ(LargestPartitionBytes(shape, 1), EncodeBlock(data, 0, 20).size());
    EXPECT_GE(LargestPartitionBytes(shape, 3), EncodeBlock(data, 0, 20).size() / 3);
    EXPECT_LT(LargestPartitionBytes(shape, 3), EncodeBlock(data, 0, 20).size() / 2);
  }
}

TEST(Slicing, CoversTheVectorAndKnowsItsSlices) {
  const Slicing cut{10, 4};
  EXPECT_EQ(cut.count(), 3u);
  EXPECT_EQ(cut.begin(2), 8u);
  EXPECT_EQ(cut.size(2), 2u);
  Header header;
  header.total = 10;
  header.offset = 8;
  header.length = 8;
  EXPECT_EQ(SliceOf(cut, header).value(), 2u);
  for (const uint64_t offset : {uint64_t{2}, uint64_t{12}, ~uint64_t{3}}) {
    header.offset = offset;
    EXPECT_EQ(SliceOf(cut, header).code(), StatusCode::kDataError);
  }
  header.offset = 8;
  header.length = 12;
  EXPECT_FALSE(SliceOf(cut, header).ok());
}

TEST(Rows, TravelAsRunsOfEqualCoefficients) {
  CodeForm form;
  form.rows = {{{0, {1, 0}}, {1, {1, 0}}, {2, {1, 2}}, {4, {1, 2}}, {5, {1, 2}}}};
  const std::vector<wire::Term> runs = RunsOf(form, 0).terms;
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].end(), 2u);
  EXPECT_EQ(runs[1].im(), 2.0);
  EXPECT_EQ(runs[2].begin(), 4u);
  wire::OrderT order;
  order.cover_known = true;
  order.terms = runs;
  const auto terms = TermsOf(order, 6);
  ASSERT_TRUE(terms.ok());
  EXPECT_EQ((*terms)[2].end, 6u);
  EXPECT_EQ((*terms)[2].coefficient, Complex(1, 2));
  EXPECT_FALSE(TermsOf(order, 5).ok());
  order.terms.emplace_back(3, 4, 1.0, 0.0);  // Terms do not ascend.
  EXPECT_EQ(TermsOf(order, 6).code(), StatusCode::kDataError);
  order.terms = {wire::Term(0, 1, NAN, 0)};
  EXPECT_EQ(TermsOf(order, 6).code(), StatusCode::kDataError);
}

// Entries form one run only if all parts have equal coefficients.
TEST(Rows, TravelWithTheCoefficientsOfAllParts) {
  CodeForm form;
  form.parts = 3;
  form.rows = {{{0, 1}, {1, 1}, {2, 1}}};
  form.other_parts = {{{2, 1}, 3, {2, 1}, 3, {2, 1}, 4}};
  const RowRuns runs = RunsOf(form, 0);
  ASSERT_EQ(runs.terms.size(), 2u);
  ASSERT_EQ(runs.other_parts.size(), 4u);
  wire::OrderT order;
  order.cover_known = true;
  order.parts = 3;
  order.terms = runs.terms;
  order.other_parts = runs.other_parts;
  const auto terms = TermsOf(order, 3);
  ASSERT_TRUE(terms.ok()) << terms.status().ToString();
  EXPECT_EQ((*terms)[0].end, 2u);
  EXPECT_EQ((*terms)[0].other_parts, (std::vector<Complex>{{2, 1}, 3}));
  EXPECT_EQ((*terms)[1].other_parts, (std::vector<Complex>{{2, 1}, 4}));
  for (const uint32_t parts : {0u, 1u, 2u, 4u, kMaxParts + 1, ~0u}) {
    order.parts = parts;
    EXPECT_EQ(TermsOf(order, 3).code(), StatusCode::kDataError) << parts;
  }
  order.parts = 3;
  order.other_parts[2] = wire::Weight(0, INFINITY);
  EXPECT_EQ(TermsOf(order, 3).code(), StatusCode::kDataError);
}

TEST(Rows, ToBeKeptAreOnePlainRun) {
  wire::OrderT order;
  order.cover_known = true;
  order.keep = true;
  order.terms = {wire::Term(1, 3, 1, 0)};
  EXPECT_TRUE(TermsOf(order, 4).ok());
  order.terms = {wire::Term(1, 3, 2, 0)};
  EXPECT_EQ(TermsOf(order, 4).code(), StatusCode::kDataError);
  order.terms = {wire::Term(0, 1, 1, 0), wire::Term(2, 3, 1, 0)};
  EXPECT_EQ(TermsOf(order, 4).code(), StatusCode::kDataError);
  order.terms.clear();
  EXPECT_EQ(TermsOf(order, 4).code(), StatusCode::kDataError);
  order.terms = {wire::Term(1, 3, 1, 0)};
  order.parts = 2;
  order.other_parts = {wire::Weight(1, 0)};
  EXPECT_EQ(TermsOf(order, 4).code(), StatusCode::kDataError);
}

TEST(Lists, TravelAsPartitionsAndAreComputedAsRuns) {
  wire::OrderT order;
  order.revocable = true;
  order.partitions = {4, 5, 9, 0};
  const auto terms = TermsOf(order, 10);
  ASSERT_TRUE(terms.ok()) << terms.status().ToString();
  ASSERT_EQ(terms->size(), 3u);
  EXPECT_EQ((*terms)[0].begin, 4u);
  EXPECT_EQ((*terms)[0].end, 6u);
  EXPECT_EQ((*terms)[1].begin, 9u);
  EXPECT_EQ((*terms)[2].end, 1u);
  EXPECT_EQ((*terms)[2].coefficient, Complex(1, 0));
  EXPECT_EQ(TermsOf(order, 9).code(), StatusCode::kDataError);
  order.partitions.push_back(5);
  EXPECT_EQ(TermsOf(order, 10).code(), StatusCode::kDataError) << "twice";
}

// An order is a row or a list.
TEST(Orders, ThatContradictThemselvesAreRefused) {
  wire::OrderT row;
  row.cover_known = true;
  row.terms = {wire::Term(0, 1, 1, 0)};
  EXPECT_TRUE(TermsOf(row, 4).ok());
  row.revocable = true;
  EXPECT_EQ(TermsOf(row, 4).code(), StatusCode::kDataError);
  row.revocable = false;
  row.partitions = {2};
  EXPECT_EQ(TermsOf(row, 4).code(), StatusCode::kDataError);
  wire::OrderT list;
  list.partitions = {2};
  EXPECT_TRUE(TermsOf(list, 4).ok());
  list.parts = 2;
  EXPECT_EQ(TermsOf(list, 4).code(), StatusCode::kDataError);
  list.parts = 1;
  list.keep = true;
  EXPECT_EQ(TermsOf(list, 4).code(), StatusCode::kDataError);
  list.keep = false;
  list.terms = {wire::Term(0, 1, 1, 0)};
  EXPECT_EQ(TermsOf(list, 4).code(), StatusCode::kDataError);
}

TEST(Errors, KeepTheirCodeAndBoundTheirText) {
  const Status why = Status::Permission(std::string(5000, 'x'));
  const Status back = StatusOf(ErrorMessage(why, 3));
  EXPECT_EQ(back.code(), StatusCode::kPermission);
  EXPECT_EQ(back.message().size(), 1024u);
  wire::ErrorT strange;
  strange.code = 0;
  EXPECT_EQ(StatusOf(strange).code(), StatusCode::kUnavailable);
  strange.code = 4000;
  EXPECT_EQ(StatusOf(strange).code(), StatusCode::kUnavailable);
}

TEST(Batch, OfAnEpochIsEverySampleOnce) {
  const BatchSchedule schedule(3, PartitionSizes(50, 7), 10);
  std::vector<uint32_t> all;
  for (StepId step = 0; step < 5; ++step) {
    const std::vector<uint32_t> rows = schedule.Rows(step);
    EXPECT_EQ(rows.size(), 10u);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Iota(0, 50));
}

TEST(Record, CountsStepsWhoseUpdateWasNeverApplied) {
  JobRecord record(1);
  const Time zero{};
  record.Opened(0, zero);
  record.Decoded(1.5, 2, nullptr);
  record.Applied(zero + std::chrono::seconds(2));
  record.Opened(1, zero + std::chrono::seconds(3));
  record.Opened(1, zero + std::chrono::seconds(4));  // The step is opened again.
  const JobResult result = record.Take();
  EXPECT_EQ(result.steps, 1u);
  EXPECT_EQ(result.discarded_steps, 1u);
  EXPECT_EQ(result.wall_seconds, 2);
  EXPECT_EQ(result.step_seconds, std::vector<double>{2});
  EXPECT_EQ(result.max_amplification, 2);
}

Header Piece(uint64_t version, uint64_t offset, uint64_t total, uint32_t length) {
  Header header;
  header.version = version;
  header.offset = offset;
  header.total = total;
  header.length = length;
  return header;
}

TEST(ParameterInbox, GivesOutOnlyWholeVersionsAndTheNewest) {
  ParameterInbox inbox(Slicing(6, 4));
  const auto slice = [&](uint64_t version, uint64_t offset, float value) {
    const uint32_t count = offset == 0 ? 4 : 2;
    const auto room = inbox.Begin(Piece(version, offset, 6, count * 4));
    ASSERT_TRUE(room.ok());
    if (room->empty()) return;
    const std::vector<float> values(count, value);
    std::memcpy(room->data(), values.data(), count * 4);
    EXPECT_TRUE(inbox.Finish().ok());
  };
  const auto values = [](const auto& copy) {
    return std::vector<float>(copy->begin(), copy->end());
  };
  slice(1, 0, 1);
  slice(1, 0, 1);
  EXPECT_EQ(inbox.AtLeast(1), nullptr);
  slice(1, 4, 1);
  const auto first = inbox.AtLeast(1);
  ASSERT_NE(first, nullptr);
  slice(2, 4, 2);
  slice(3, 0, 3);  // Version 2 is never complete.
  slice(2, 0, 2);
  slice(3, 4, 3);
  EXPECT_EQ(values(inbox.AtLeast(2)), std::vector<float>(6, 3)) << "newer than asked for";
  EXPECT_EQ(inbox.newest(), 3u);
  EXPECT_EQ(inbox.AtLeast(4), nullptr);
  ASSERT_NE(inbox.AtLeast(3), nullptr);
  EXPECT_EQ(values(inbox.AtLeast(3)), std::vector<float>(6, 3));
  EXPECT_EQ(values(first), std::vector<float>(6, 1));  // This version is still in use.
  EXPECT_FALSE(inbox.Begin(Piece(4, 0, 7, 16)).ok());
  EXPECT_FALSE(inbox.Begin(Piece(4, 2, 6, 16)).ok());
}

class PartitionBlocks : public TestRig, public testing::Test {
 protected:
  PartitionBlocks() : data(MakeSamples(5, 3, true, 20, 1)) {
    wire::AcceptT accept;
    accept.model = "softmax";
    accept.features = 5;
    accept.classes = 3;
    accept.sparse = true;
    accept.batch = 4;
    accept.slice_length = 64;
    accept.partition_sizes = {12, 8};
    shop = MakeWorkshop(loop, *device, accept).value();
    inbox = std::make_unique<PartitionInbox>(shop, PartitionInbox::Shape{5, 3, true});
  }
  // Delivers the block in pieces of at most `piece` bytes.
  Status Send(PartitionId partition, const Bytes& block, size_t piece) {
    for (size_t begin = 0; begin < block.size(); begin += piece) {
      const size_t size = std::min(piece, block.size() - begin);
      Header header = Piece(0, begin, block.size(), static_cast<uint32_t>(size));
      header.row_id = partition;
      MOTLEY_ASSIGN_OR_RETURN(const std::span<std::byte> room, inbox->Begin(header));
      std::memcpy(room.data(), block.data() + begin, size);
      MOTLEY_RETURN_IF_ERROR(inbox->Finish());
    }
    return Status::Ok();
  }

  Dataset data;
  std::shared_ptr<Workshop> shop;
  std::unique_ptr<PartitionInbox> inbox;
};

TEST_F(PartitionBlocks, ArePutTogetherFromPieces) {
  ASSERT_TRUE(Send(1, EncodeBlock(data, 12, 20), 7).ok());
  ASSERT_EQ(shop->store.count(1), 1u);
  EXPECT_EQ(shop->store[1]->shape().rows, 8u);
  EXPECT_EQ(inbox->held_bytes(), shop->store[1]->memory_bytes());
  ASSERT_TRUE(Send(0, EncodeBlock(data, 0, 12), 1 << 20).ok());
  ASSERT_TRUE(Send(1, EncodeBlock(data, 12, 20), 7).ok());  // It replaces the earlier copy.
  EXPECT_EQ(inbox->held_bytes(), shop->store[0]->memory_bytes() + shop->store[1]->memory_bytes());
}

TEST_F(PartitionBlocks, AreReportedAsTheyCome) {
  const Bytes block = EncodeBlock(data, 12, 20);
  const size_t half = block.size() / 2;
  for (const size_t begin : {size_t{0}, half}) {
    const size_t size = begin == 0 ? half : block.size() - half;
    Header header = Piece(0, begin, block.size(), static_cast<uint32_t>(size));
    header.row_id = 1;
    const auto room = inbox->Begin(header);
    ASSERT_TRUE(room.ok());
    std::memcpy(room->data(), block.data() + begin, size);
    ASSERT_TRUE(inbox->Finish().ok());
    const wire::DataCameT came = inbox->TakeCame();
    EXPECT_EQ(came.bytes, begin + size);
    EXPECT_EQ(came.partitions, std::vector<uint32_t>(begin == 0 ? 0 : 1, 1));
  }
  EXPECT_TRUE(inbox->TakeCame().partitions.empty());
  EXPECT_EQ(inbox->TakeCame().bytes, block.size());
}

TEST_F(PartitionBlocks, OfTheCallerAreThereWhenTheyAreAnnounced) {
  inbox = std::make_unique<PartitionInbox>(shop, PartitionInbox::Shape{});
  ASSERT_TRUE(inbox->Announce({1, 0}).ok());
  EXPECT_EQ(inbox->TakeCame().partitions, (std::vector<uint32_t>{1, 0}));
}

TEST_F(PartitionBlocks, BeyondTheMemoryGoToFilesAndAreTheSame) {
  const Bytes block = EncodeBlock(data, 0, 12);
  inbox = std::make_unique<PartitionInbox>(shop, PartitionInbox::Shape{5, 3, true}, nullptr,
                                           SelectRange(data, 0, 12).size_bytes());
  ASSERT_TRUE(Send(0, block, 100).ok());
  const uint64_t first = inbox->held_bytes();
  EXPECT_EQ(first, SelectRange(data, 0, 12).size_bytes());
  ASSERT_TRUE(Send(1, EncodeBlock(data, 12, 20), 100).ok());
  const DataSource& spilled = *shop->store[1];
  EXPECT_EQ(EncodeBlock(*spilled.Range(0, 8), 0, 8), EncodeBlock(data, 12, 20));
  EXPECT_EQ(inbox->held_bytes(), first + spilled.memory_bytes());
  ASSERT_TRUE(Send(0, block, 100).ok());  // A partition may reuse the room that it gives back.
  EXPECT_EQ(inbox->held_bytes(), first + spilled.memory_bytes());
}

TEST_F(PartitionBlocks, OfAnotherSizeOrDamagedAreRefused) {
  EXPECT_EQ(Send(1, EncodeBlock(data, 12, 19), 100).code(), StatusCode::kDataError);
  Bytes block = EncodeBlock(data, 12, 20);
  block.resize(block.size() - 3);
  EXPECT_EQ(Send(1, block, 100).code(), StatusCode::kDataError);
  EXPECT_EQ(Send(2, block, 100).code(), StatusCode::kDataError);
  Header header = Piece(0, 4, 100, 50);  // The piece does not start at the beginning.
  EXPECT_FALSE(inbox->Begin(header).ok());
  header = Piece(0, 0, ~uint64_t{0}, 50);
  EXPECT_FALSE(inbox->Begin(header).ok());
  header = Piece(0, ~uint64_t{0} - 10, ~uint64_t{0}, 50);
  EXPECT_FALSE(inbox->Begin(header).ok());
  EXPECT_EQ(shop->store.size(), 0u);
}

TEST(Workshop, RefusesAWelcomeThatMakesNoSense) {
  TestRig rig;
  wire::AcceptT accept;
  accept.model = "softmax";
  accept.features = 5;
  accept.classes = 3;
  accept.batch = 4;
  accept.slice_length = 64;
  EXPECT_EQ(MakeWorkshop(rig.loop, *rig.device, accept).status().code(), StatusCode::kDataError);
  accept.partition_sizes = {4, 4};
  EXPECT_TRUE(MakeWorkshop(rig.loop, *rig.device, accept).ok());
  accept.slice_length = 63;
  EXPECT_EQ(MakeWorkshop(rig.loop, *rig.device, accept).status().code(), StatusCode::kDataError);
  accept.slice_length = 64;
  accept.turns = 0;
  EXPECT_EQ(MakeWorkshop(rig.loop, *rig.device, accept).status().code(), StatusCode::kDataError);
  accept.turns = 5;
  EXPECT_EQ(MakeWorkshop(rig.loop, *rig.device, accept).status().code(), StatusCode::kDataError)
      << "more turns than samples";
  accept.turns = 1;
  accept.model = "transformer";
  EXPECT_EQ(MakeWorkshop(rig.loop, *rig.device, accept).status().code(), StatusCode::kConflict);
}

// Answers every event with commands for rows 0 and 1 of its step, and a tick with one for row 2.
class EchoScheduler : public Scheduler {
 public:
  void OnEvent(const Event& event, Time, std::vector<Command>& out) override {
    if (std::get_if<Tick>(&event) != nullptr) {
      deadline = kNever;
      out.emplace_back(AssignRow{0, 0, 2});
      return;
    }
    const StepId step = std::get<StepApplied>(event).step;
    out.emplace_back(AssignRow{0, step, 0});
    out.emplace_back(AssignRow{0, step, 1});
  }
  Time Deadline() const override { return deadline; }
  SchedulerStats Stats() const override { return {}; }
  Time deadline = kNever;
};

TEST(EventPump, CarriesOutCommandsInOrderAndNeverInsideEachOther) {
  VirtualLoop loop;
  std::string said;
  EventPump* raise = nullptr;
  EventPump pump(loop, std::make_unique<EchoScheduler>(), [&](const Command& command) {
    const auto& assign = std::get<AssignRow>(command);
    said += std::to_string(assign.step) + (assign.row == 0 ? " " : "' ");
    if (assign.step == 1 && assign.row == 0) raise->Raise(StepApplied{2});
  });
  raise = &pump;
  pump.Raise(StepApplied{1});
  EXPECT_EQ(said, "1 1' 2 2' ");
  pump.Stop();
  pump.Raise(StepApplied{3});
  EXPECT_EQ(said, "1 1' 2 2' ");
}

TEST(EventPump, TicksAtTheDeadline) {
  VirtualLoop loop;
  Time ticked{};
  auto scheduler = std::make_unique<EchoScheduler>();
  EchoScheduler& echo = *scheduler;
  EventPump pump(loop, std::move(scheduler), [&](const Command& command) {
    if (std::get<AssignRow>(command).row == 2) ticked = loop.Now();
  });
  echo.deadline = Time(std::chrono::seconds(5));
  pump.Raise(StepApplied{1});
  echo.deadline = Time(std::chrono::seconds(3));
  pump.Raise(StepApplied{2});
  loop.RunUntil([] { return false; });
  EXPECT_EQ(ticked, Time(std::chrono::seconds(3)));
}

}  // namespace
}  // namespace motley
