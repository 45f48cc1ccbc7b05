// SPDX-License-Identifier: Apache-2.0
#include "transport/send_queue.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "transport/task_queue.h"
#include "transport/wire/checksum.h"

namespace motley {
namespace {

Outgoing Message(SendId id, Priority priority, uint32_t length = 10) {
  Outgoing message;
  message.id = id;
  message.priority = priority;
  message.header.length = length;
  return message;
}

TEST(SendQueue, ControlComesFirstAndEachPriorityKeepsItsOrder) {
  SendQueue queue;
  queue.Push(Message(1, Priority::kBulk));
  queue.Push(Message(2, Priority::kControl));
  queue.Push(Message(3, Priority::kBulk));
  queue.Push(Message(4, Priority::kControl));
  std::vector<SendId> order;
  for (const Outgoing& message : queue.TakeAll()) order.push_back(message.id);
  EXPECT_EQ(order, (std::vector<SendId>{2, 4, 1, 3}));
  EXPECT_FALSE(queue.Pop().has_value());
}

TEST(SendQueue, BytesAreThoseThatWait) {
  SendQueue queue;
  queue.Push(Message(1, Priority::kBulk, 100));
  queue.Push(Message(2, Priority::kControl, 20));
  queue.Push(Message(3, Priority::kBulk, 3));
  EXPECT_EQ(queue.bytes(), 123u);
  EXPECT_EQ(queue.Remove(1)->id, 1u);
  EXPECT_FALSE(queue.Remove(1).has_value());
  EXPECT_EQ(queue.bytes(), 23u);
  EXPECT_EQ(queue.Pop()->id, 2u);
  EXPECT_EQ(queue.bytes(), 3u);
  queue.TakeAll();
  EXPECT_EQ(queue.bytes(), 0u);
  EXPECT_TRUE(queue.empty());
}

TEST(SendQueue, LengthIsTheSumOfThePiecesUpToTheCapOfTheKind) {
  const Bytes piece(kMaxControlBytes / 2);
  Outgoing message;
  message.pieces = {piece, BytesView(), piece};
  ASSERT_TRUE(SetLength(message).ok());
  EXPECT_EQ(message.header.length, kMaxControlBytes);
  message.pieces.push_back(BytesView(piece).first(1));
  EXPECT_EQ(SetLength(message).code(), StatusCode::kInvalidArgument);
  message.header.kind = FrameKind::kParameters;
  EXPECT_TRUE(SetLength(message).ok());
}

TEST(TaskQueue, InnerRunLeavesNothingToTheOuterOne) {
  TaskQueue queue;
  std::vector<int> order;
  queue.Add([&] {
    order.push_back(1);
    queue.Add([&] { order.push_back(3); });
    queue.Run();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  });
  queue.Add([&] { order.push_back(2); });
  queue.Run();
  EXPECT_EQ(order.size(), 3u);
}

TEST(TaskQueue, TasksAddedByATaskWaitForTheNextRun) {
  TaskQueue queue;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    queue.Add(again);
  };
  queue.Add(again);
  queue.Run();
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(queue.empty());
}

TEST(Checksum, DoesNotDependOnHowTheBytesWereCut) {
  Bytes bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  Checksum whole;
  whole.Add(bytes);
  for (size_t cut : {0, 1, 239, 240, 241, 999, 1000}) {
    Checksum parts;
    parts.Add(bytes);
    parts.Reset();
    parts.Add(BytesView(bytes).first(cut));
    parts.Add(BytesView(bytes).subspan(cut));
    EXPECT_EQ(parts.Value(), whole.Value()) << cut;
  }
}

// The value is part of the wire format: XXH3-64 of nothing, from its specification.
TEST(Checksum, IsXxh3) { EXPECT_EQ(Checksum().Value(), 0x2d06800538d394c2u); }

}  // namespace
}  // namespace motley
