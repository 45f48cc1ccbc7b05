// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/control.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "transport/wire/repeated_control.h"

namespace motley {
namespace {

wire::AssignT SomeAssign() {
  wire::AssignT assign;
  assign.step = 12;
  assign.version = 11;
  assign.row = 3;
  assign.terms = {wire::Term(0, 4, 1.5, 0), wire::Term(7, 8, -0.5, 2)};
  return assign;
}

TEST(Control, AssignSurvivesTheRoundTrip) {
  const auto control = DecodeControl(EncodeControl(SomeAssign()));
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  EXPECT_EQ(control.value().body.type, wire::Body::Assign);
  const wire::AssignT* assign = control.value().body.AsAssign();
  ASSERT_NE(assign, nullptr);
  EXPECT_EQ(assign->step, 12u);
  ASSERT_EQ(assign->terms.size(), 2u);
  EXPECT_EQ(assign->terms[1].begin(), 7u);
  EXPECT_EQ(assign->terms[1].im(), 2.0);
  EXPECT_EQ(control.value().body.AsJoin(), nullptr);
}

TEST(Control, AnAssignGetsAnotherStepInPlace) {
  Bytes bytes = EncodeControl(SomeAssign());
  wire::AssignT later = SomeAssign();
  later.step = later.version = 1u << 20;
  ASSERT_TRUE(SetStep(bytes, later.step));
  EXPECT_EQ(bytes, EncodeControl(later));
}

TEST(Control, AnAssignOfStepZeroHasNoRoomForAnother) {
  wire::AssignT assign = SomeAssign();
  assign.step = assign.version = 0;
  Bytes bytes = EncodeControl(assign);
  EXPECT_TRUE(SetStep(bytes, 0));
  EXPECT_EQ(bytes, EncodeControl(assign));
  EXPECT_FALSE(SetStep(bytes, 1));
}

// Holds for any earlier message, with any fields at their defaults before and after.
TEST(Control, EncodingAgainGivesTheBytesOfANewMessage) {
  Random random(5, Stream::kTest);
  const auto some = [&] { return random.Chance(0.3) ? 0 : random.Next64() >> random.Below(64); };
  Bytes pull_bytes, progress_bytes;
  for (int i = 0; i < 2000; ++i) {
    wire::PullT pull;
    pull.step = some();
    pull.row = static_cast<uint32_t>(some());
    pull.samples = some();
    pull.compute_ns = some();
    pull.finished = random.Chance(0.5);
    pull.samples_per_second = static_cast<double>(some());
    pull.held_bytes = some();
    EncodeAgain(pull, pull_bytes);
    ASSERT_EQ(pull_bytes, EncodeControl(pull));
    wire::ProgressT progress;
    progress.step = some();
    progress.row = static_cast<uint32_t>(some());
    progress.samples = some();
    progress.compute_ns = some();
    EncodeAgain(progress, progress_bytes);
    ASSERT_EQ(progress_bytes, EncodeControl(progress));
  }
}

TEST(Control, VerifiedMessagesAreReadInPlace) {
  wire::PullT pull;
  pull.step = 7;
  pull.samples = 128;
  const Bytes bytes = EncodeControl(pull);
  const auto verified = VerifyControl(bytes);
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  const wire::Pull* read = (*verified)->body_as_Pull();
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->step(), 7u);
  EXPECT_EQ(read->samples(), 128u);
  EXPECT_EQ((*verified)->body_as_Assign(), nullptr);
  const auto unpacked = UnpackControl(**verified);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(unpacked->body.AsPull()->samples, 128u);
  EXPECT_EQ(VerifyControl(Bytes(64)).code(), StatusCode::kDataError);
}

TEST(Control, JoinSurvivesTheRoundTrip) {
  wire::JoinT join;
  join.protocol = kProtocolVersion;
  join.token = "secret";
  join.name = "worker-2";
  join.index_hint = 2;
  join.incarnation = 99;
  const auto control = DecodeControl(EncodeControl(join));
  ASSERT_TRUE(control.ok());
  const wire::JoinT* got = control.value().body.AsJoin();
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->token, "secret");
  EXPECT_EQ(got->index_hint, 2);
  EXPECT_EQ(got->incarnation, 99u);
}

TEST(Control, BytesAtOddAddressesDecodeToo) {
  const Bytes bytes = EncodeControl(SomeAssign());
  Bytes shifted(1);
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  EXPECT_TRUE(DecodeControl(BytesView(shifted).subspan(1)).ok());
}

// A control message with a union member that this version does not know.
TEST(Control, UnknownMemberDecodesAsNone) {
  flatbuffers::FlatBufferBuilder builder;
  const auto body = wire::CreateCancel(builder, 5).Union();
  const auto type = static_cast<wire::Body>(200);
  builder.Finish(wire::CreateControl(builder, type, body));
  const auto control = DecodeControl(
      std::as_bytes(std::span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize())));
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  EXPECT_EQ(control.value().body.type, wire::Body::NONE);
  EXPECT_EQ(control.value().body.value, nullptr);
}

TEST(Control, KnownMemberWithoutBodyIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(wire::CreateControl(builder, wire::Body::Assign, 0));
  const auto control = DecodeControl(
      std::as_bytes(std::span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize())));
  EXPECT_EQ(control.code(), StatusCode::kDataError);
}

TEST(Control, TruncatedMessagesAreRefusedOrStillWellFormed) {
  const Bytes bytes = EncodeControl(SomeAssign());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(DecodeControl(cut).code(), StatusCode::kDataError) << size;
  }
}

TEST(Control, MessagesAboveTheCapAreRefused) {
  EXPECT_EQ(DecodeControl(Bytes(kMaxControlBytes + 1)).code(), StatusCode::kDataError);
}

TEST(Control, RandomBytesNeverCrash) {
  Random random(1, Stream::kTest);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes(random.Below(256));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random.Next32());
    const auto control = DecodeControl(bytes);
    EXPECT_TRUE(control.ok() || control.code() == StatusCode::kDataError);
  }
}

// Damaged messages get deeper into the verifier than random bytes do.
TEST(Control, DamagedMessagesNeverCrash) {
  Random random(2, Stream::kTest);
  const Bytes good = EncodeControl(SomeAssign());
  size_t accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    Bytes bytes = good;
    const uint64_t changes = 1 + random.Below(4);
    for (uint64_t i = 0; i < changes; ++i) {
      const uint64_t at = random.Below(bytes.size());
      bytes[at] = static_cast<std::byte>(random.Next32());
    }
    const auto control = DecodeControl(bytes);
    accepted += control.ok();
    if (const auto* assign = control.ok() ? control.value().body.AsAssign() : nullptr) {
      EXPECT_LE(assign->terms.size() * sizeof(wire::Term), bytes.size());
    }
  }
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace motley
