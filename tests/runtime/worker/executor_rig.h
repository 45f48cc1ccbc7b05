// SPDX-License-Identifier: Apache-2.0
// A worker's executor on a device that takes a millisecond per sample, and the messages of its
// server.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "devices/forwarding_device.h"
#include "runtime/links/messages.h"
#include "runtime/worker/executor.h"
#include "tests/runtime/held_transport.h"
#include "tests/training/test_data.h"

namespace motley {

// A device that reports separate memory and counts what is copied out of it.
class FarDevice final : public ForwardingDevice<> {
 public:
  using ForwardingDevice::ForwardingDevice;
  bool host_accessible() const override { return false; }
  Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                      const TakePiece& take) override {
    copied_out += size_bytes;
    return inner_.CopyOutAfter(after, from, offset, size_bytes, take);
  }
  void Submit(double units, Work work, Done done) override {
    inner_.Submit(units, std::move(work), std::move(done));
  }
  uint64_t copied_out = 0;
};

// 200 samples in a given number of partitions, all in each batch.
class ExecutorRig : public TestRig, public testing::Test {
 protected:
  static constexpr Duration kSampleTime = std::chrono::milliseconds(1);

  explicit ExecutorRig(uint32_t count, bool is_far = false)
      : size_(200 / count), far(*device), data(MakeSamples(5, 3, false, 200, 1)) {
    Device& inner = is_far ? static_cast<Device&>(far) : *device;
    paced = MakePacedDevice(loop, inner, {kSampleTime, 1});
    wire::AcceptT accept;
    accept.model = "softmax";
    accept.features = 5;
    accept.classes = 3;
    accept.batch = 200;
    accept.slice_length = 8;
    accept.partition_sizes.assign(count, size_);
    shop = MakeWorkshop(loop, *paced, accept).value();
    parameters = std::make_unique<ParameterInbox>(Slicing(shop->model->parameter_count(), 64));
    partitions = std::make_unique<PartitionInbox>(shop, PartitionInbox::Shape{5, 3, false});
    executor = std::make_unique<Executor>(
        Env{loop, transport, *paced},
        Executor::Parts{shop, *parameters, *partitions, 1, Header(),
                        Slicing(VectorLength(shop->model->parameter_count()), 8)},
        [this](const Status& status) { failed = status; });
  }
  void GivePartition(PartitionId partition) {
    const Bytes block = EncodeBlock(data, size_ * partition, size_ * (partition + 1));
    Header header;
    header.row_id = partition;
    header.total = block.size();
    header.length = static_cast<uint32_t>(block.size());
    const auto room = partitions->Begin(header);
    ASSERT_TRUE(room.ok());
    std::memcpy(room->data(), block.data(), block.size());
    ASSERT_TRUE(partitions->Finish().ok());
    executor->Advance();
  }
  void GiveParameters(uint64_t version) {
    Header header;
    header.version = version;
    header.total = shop->model->parameter_count();
    header.length = static_cast<uint32_t>(header.total * sizeof(float));
    const auto room = parameters->Begin(header);
    ASSERT_TRUE(room.ok());
    std::memset(room->data(), 0, room->size());
    ASSERT_TRUE(parameters->Finish().ok());
    executor->Advance();
  }
  // A row of a code.
  static WorkOrder::What Row(StepId step, uint32_t order, std::vector<PartitionTerm> terms,
                             uint32_t parts = 1) {
    return {
        .step = step, .version = step, .order = order, .terms = std::move(terms), .parts = parts};
  }
  void Run() {
    loop.RunUntil([] { return false; });
  }
  // Control messages in the transport, in the order in which they were sent.
  template <typename Message>
  std::vector<Message> Said() const {
    constexpr wire::Body kBody = wire::BodyUnionTraits<Message>::enum_value;
    // A table outside of the union would silently give NONE.
    static_assert(kBody != wire::Body::NONE);
    std::vector<Message> found;
    for (const auto& [id, message] : transport.held) {
      if (message.header.kind != FrameKind::kControl) continue;
      const auto control = DecodeControl(message.bytes).value();
      if (control.body.type != kBody) continue;
      found.push_back(*static_cast<const Message*>(control.body.value));
    }
    return found;
  }

 private:
  const uint32_t size_;  // Samples in a partition.

 protected:
  FarDevice far;
  Dataset data;
  HeldTransport transport;
  std::unique_ptr<PacedDevice> paced;
  std::shared_ptr<Workshop> shop;
  std::unique_ptr<ParameterInbox> parameters;
  std::unique_ptr<PartitionInbox> partitions;
  std::unique_ptr<Executor> executor;
  std::optional<Status> failed;
};

}  // namespace motley
