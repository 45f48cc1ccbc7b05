// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/control.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/random.h"
#include "transport/wire/repeated_control.h"

namespace motley {
namespace {

wire::OrderT SomeOrder() {
  wire::OrderT order;
  order.step = 12;
  order.version = 11;
  order.order = 3;
  order.attempt = 2;
  order.cover_known = true;
  order.terms = {wire::Term(0, 4, 1.5, 0), wire::Term(7, 8, -0.5, 2)};
  return order;
}

TEST(Control, OrderSurvivesTheRoundTrip) {
  const auto control = DecodeControl(EncodeControl(SomeOrder()));
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  EXPECT_EQ(control.value().body.type, wire::Body::Order);
  const wire::OrderT* order = control.value().body.AsOrder();
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->step, 12u);
  ASSERT_EQ(order->terms.size(), 2u);
  EXPECT_EQ(order->terms[1].begin(), 7u);
  EXPECT_EQ(order->terms[1].im(), 2.0);
  EXPECT_EQ(control.value().body.AsJoin(), nullptr);
}

TEST(Control, AnOrderGetsAnotherNumberAndStepInPlace) {
  Bytes bytes = EncodeControl(SomeOrder());
  wire::OrderT later = SomeOrder();
  later.step = 1u << 20;
  later.version = later.step - 3;
  later.order = 4;
  later.attempt = 3;
  ASSERT_TRUE(SetOrder(bytes, {later.step, later.version}, later.order, later.attempt));
  EXPECT_EQ(bytes, EncodeControl(later));
}

TEST(Control, AnOrderThatGoesOnHasRoomForOneThatDoesNot) {
  wire::OrderT order = SomeOrder();
  Bytes bytes = EncodeControl(order);
  EXPECT_FALSE(SetOrder(bytes, {order.step, order.version}, order.order, order.attempt, true));
  order.ahead = true;
  bytes = EncodeControl(order);
  ASSERT_TRUE(SetOrder(bytes, {order.step, order.version}, order.order, order.attempt, false));
  EXPECT_FALSE(DecodeControl(bytes)->body.AsOrder()->ahead);
  ASSERT_TRUE(SetOrder(bytes, {order.step, order.version}, order.order, order.attempt, true));
  EXPECT_EQ(bytes, EncodeControl(order));
}

TEST(Control, AnOrderOfStepZeroHasNoRoomForAnother) {
  wire::OrderT order = SomeOrder();
  order.step = order.version = 0;
  Bytes bytes = EncodeControl(order);
  EXPECT_TRUE(SetOrder(bytes, {0, 0}, order.order, order.attempt));
  EXPECT_EQ(bytes, EncodeControl(order));
  EXPECT_FALSE(SetOrder(bytes, {1, 1}, order.order, order.attempt));
}

// Holds for any earlier message, with any fields at their defaults before and after.
TEST(Control, EncodingAgainGivesTheBytesOfANewMessage) {
  Random random(5, Stream::kTest);
  const auto some = [&] { return random.Chance(0.3) ? 0 : random.Next64() >> random.Below(64); };
  Bytes end_bytes, progress_bytes;
  for (int i = 0; i < 2000; ++i) {
    wire::AnswerEndT end;
    end.step = some();
    end.order = static_cast<uint32_t>(some());
    end.entries = static_cast<uint32_t>(some());
    end.samples = some();
    end.compute_ns = some();
    end.finished = random.Chance(0.5);
    end.held_bytes = some();
    EncodeAgain(end, end_bytes);
    ASSERT_EQ(end_bytes, EncodeControl(end));
    wire::ProgressT progress;
    progress.step = some();
    progress.order = static_cast<uint32_t>(some());
    progress.samples = some();
    progress.entries = static_cast<uint32_t>(some());
    progress.compute_ns = some();
    EncodeAgain(progress, progress_bytes);
    ASSERT_EQ(progress_bytes, EncodeControl(progress));
  }
}

TEST(Control, VerifiedMessagesAreReadInPlace) {
  wire::AnswerEndT end;
  end.step = 7;
  end.samples = 128;
  const Bytes bytes = EncodeControl(end);
  const auto verified = VerifyControl(bytes);
  ASSERT_TRUE(verified.ok()) << verified.status().ToString();
  const wire::AnswerEnd* read = (*verified)->body_as_AnswerEnd();
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->step(), 7u);
  EXPECT_EQ(read->samples(), 128u);
  EXPECT_EQ((*verified)->body_as_Order(), nullptr);
  const auto unpacked = UnpackControl(**verified);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(unpacked->body.AsAnswerEnd()->samples, 128u);
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

// Codes with several messages for each worker log dozens of answers.
TEST(Control, ALogOfManyAnswersSurvivesTheRoundTrip) {
  wire::ShardLogT log;
  for (uint32_t row = 0; row < 1000; ++row) {
    auto entry = std::make_unique<wire::ShardLogEntryT>();
    entry->row = row;
    log.entries.push_back(std::move(entry));
  }
  const auto control = DecodeControl(EncodeControl(log));
  ASSERT_TRUE(control.ok()) << control.status().ToString();
  ASSERT_EQ(control->body.AsShardLog()->entries.size(), 1000u);
  EXPECT_EQ(control->body.AsShardLog()->entries.back()->row, 999u);
}

TEST(Control, BytesAtOddAddressesDecodeToo) {
  const Bytes bytes = EncodeControl(SomeOrder());
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
  builder.Finish(wire::CreateControl(builder, wire::Body::Order, 0));
  const auto control = DecodeControl(
      std::as_bytes(std::span<const uint8_t>(builder.GetBufferPointer(), builder.GetSize())));
  EXPECT_EQ(control.code(), StatusCode::kDataError);
}

TEST(Control, TruncatedMessagesAreRefusedOrStillWellFormed) {
  const Bytes bytes = EncodeControl(SomeOrder());
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
  const Bytes good = EncodeControl(SomeOrder());
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
    if (const auto* order = control.ok() ? control.value().body.AsOrder() : nullptr) {
      EXPECT_LE(order->terms.size() * sizeof(wire::Term), bytes.size());
    }
  }
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace motley
