// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/vector_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/loop/virtual_loop.h"
#include "tests/runtime/held_transport.h"
#include "transport/wire/control.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// Vectors have 16 slices of 10 floats and one of 5. Two slices are asked for.
const Slicing kCut(165, 10);

class VectorProbeTest : public testing::Test {
 protected:
  VectorProbeTest() {
    for (WorkerId worker = 0; worker < 3; ++worker) {
      turns_.push_back(std::make_unique<VectorProbe::Turn>(probe_, worker, 100 + worker, Header()));
    }
  }

  void Ask(WorkerId worker) { turns_[worker]->Ask(); }

  // The peers that were asked since the last call, and for how many slices.
  std::vector<std::pair<PeerId, uint32_t>> Asked() {
    std::vector<std::pair<PeerId, uint32_t>> asked;
    while (!transport_.held.empty()) {
      const auto message = transport_.LetGo();
      const auto control = DecodeControl(message.bytes);
      EXPECT_TRUE(control.ok() && control->body.AsProbe() != nullptr);
      asked.emplace_back(message.peer, control->body.AsProbe()->slices);
    }
    return asked;
  }

  static Header Slice(size_t slice) {
    Header header;
    header.kind = FrameKind::kProbe;
    header.total = kCut.total();
    header.offset = kCut.begin(slice);
    header.length = static_cast<uint32_t>(kCut.size(slice) * sizeof(float));
    return header;
  }
  // A slice that takes this many seconds to arrive.
  void Come(WorkerId worker, size_t slice, double seconds) {
    const auto room = turns_[worker]->Begin(Slice(slice));
    ASSERT_TRUE(room.ok()) << room.status().ToString();
    EXPECT_EQ(room->size(), kCut.size(slice) * sizeof(float));
    loop_.RunUntilTime(loop_.Now() + FromSeconds(seconds));
    turns_[worker]->Finish();
  }

  VirtualLoop loop_;
  HeldTransport transport_;
  std::vector<std::pair<WorkerId, double>> told_;
  VectorProbe probe_{loop_, transport_, kCut, [this](WorkerId worker, Duration vector) {
                       told_.emplace_back(worker, ToSeconds(vector));
                     }};
  std::vector<std::unique_ptr<VectorProbe::Turn>> turns_;  // By worker.
};

TEST_F(VectorProbeTest, OneAfterTheOtherIsAskedForTheBeginningOfAVector) {
  for (const WorkerId worker : {2, 0}) Ask(worker);
  EXPECT_THAT(Asked(), ElementsAre(Pair(102, 2)));
  Come(2, 0, 1);
  EXPECT_THAT(Asked(), IsEmpty());
  Come(2, 1, 1);
  EXPECT_THAT(Asked(), ElementsAre(Pair(100, 2)));
  Come(0, 0, 3);
  Come(0, 1, 1);
  EXPECT_THAT(told_, ElementsAre(Pair(2, testing::DoubleNear(2 * 8.25, 1e-6)),
                                 Pair(0, testing::DoubleNear(4 * 8.25, 1e-6))));
}

TEST_F(VectorProbeTest, AnAnswerThatComesMeanwhileVoidsIt) {
  Ask(0);
  probe_.Disturb();  // The answer arrives before the vector begins.
  Come(0, 0, 1);
  Come(0, 1, 1);
  EXPECT_EQ(told_.size(), 1U);
  Ask(0);
  Come(0, 0, 1);
  probe_.Disturb();
  Come(0, 1, 1);
  EXPECT_EQ(told_.size(), 1U);
  Ask(0);
  Come(0, 0, 1);
  Come(0, 1, 1);
  EXPECT_EQ(told_.size(), 2U);
}

// The others would not be alone. They are asked again when the next step's work goes out.
TEST_F(VectorProbeTest, WhoWaitsWhenAnswersComeIsNotAsked) {
  for (const WorkerId worker : {0, 1}) Ask(worker);
  Asked();
  probe_.Disturb();
  Come(0, 0, 1);
  Come(0, 1, 1);
  EXPECT_THAT(Asked(), IsEmpty());
  for (const WorkerId worker : {0, 1}) Ask(worker);
  EXPECT_THAT(Asked(), ElementsAre(Pair(100, 2)));
  Come(0, 0, 1);
  Come(0, 1, 1);
  EXPECT_THAT(Asked(), ElementsAre(Pair(101, 2)));
}

TEST_F(VectorProbeTest, AFewMeasurementsAreEnoughAndTriesAreCounted) {
  for (int i = 0; i < 10; ++i) {
    Ask(0);
    if (Asked().empty()) break;
    Come(0, 0, 1);
    Come(0, 1, 1);
  }
  EXPECT_EQ(told_.size(), 2U);
  int asked = 0;
  for (int i = 0; i < 30; ++i) {
    Ask(1);
    if (Asked().empty()) break;
    ++asked;
    Come(1, 0, 1);
    probe_.Disturb();
    Come(1, 1, 1);
  }
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_LT(asked, 10);
}

TEST_F(VectorProbeTest, WhatWasNotAskedForIsRefused) {
  EXPECT_EQ(turns_[0]->Begin(Slice(0)).code(), StatusCode::kDataError);
  Ask(0);
  EXPECT_EQ(turns_[1]->Begin(Slice(0)).code(), StatusCode::kDataError);
  EXPECT_EQ(turns_[0]->Begin(Slice(1)).code(), StatusCode::kDataError) << "not the first";
  Header longer = Slice(0);
  longer.length *= 2;
  EXPECT_EQ(turns_[0]->Begin(longer).code(), StatusCode::kDataError);
  Come(0, 0, 1);
  Come(0, 1, 1);
  EXPECT_EQ(turns_[0]->Begin(Slice(2)).code(), StatusCode::kDataError) << "one too many";
}

TEST_F(VectorProbeTest, WhoIsLostDoesNotHoldTheOthersUp) {
  for (const WorkerId worker : {0, 1, 2}) Ask(worker);
  Asked();
  Come(0, 0, 1);
  turns_[1] = nullptr;
  turns_[0] = nullptr;
  EXPECT_THAT(Asked(), ElementsAre(Pair(102, 2)));
  Come(2, 0, 1);
  Come(2, 1, 1);
  EXPECT_THAT(told_, ElementsAre(Pair(2, testing::DoubleNear(2 * 8.25, 1e-6))));
}

}  // namespace
}  // namespace motley
