// SPDX-License-Identifier: Apache-2.0
#include "devices/check/device_check.h"

#include <list>
#include <span>
#include <vector>

namespace motley::check {
namespace {

// Each operand has an allocation of its own and starts 8 bytes into it. After a failure nothing is
// copied any more.
class DeviceRig final : public KernelRig {
 public:
  explicit DeviceRig(Device& device) : device_(device) {}

  const motley_kernels& table() const override { return device_.kernels(); }
  void* queue() const override { return device_.queue(); }
  void* Store(const void* bytes, size_t size_bytes) override {
    constexpr size_t kOffset = 8;
    auto buffer = device_.Allocate(kOffset + size_bytes);
    if (!buffer.ok()) {
      Note(buffer.status());
      instead_.emplace_back(kOffset + size_bytes);
      return instead_.back().data() + kOffset;
    }
    operands_.push_back({*std::move(buffer), kOffset});
    const Operand& operand = operands_.back();
    Note(device_.CopyIn(operand.buffer, kOffset,
                        std::span(static_cast<const std::byte*>(bytes), size_bytes)));
    return static_cast<std::byte*>(operand.buffer.data()) + kOffset;
  }
  void Load(const void* stored, void* bytes, size_t size_bytes) const override {
    for (const Operand& operand : operands_) {
      if (static_cast<const std::byte*>(operand.buffer.data()) + operand.offset != stored) continue;
      Note(device_.CopyOut(operand.buffer, operand.offset,
                           std::span(static_cast<std::byte*>(bytes), size_bytes)));
    }
  }

  const Status& status() const { return status_; }

 private:
  struct Operand {
    Buffer buffer;
    size_t offset = 0;
  };
  void Note(const Status& status) const {
    if (status_.ok()) status_ = status;
  }

  Device& device_;
  std::list<Operand> operands_;
  // Host memory for operands when the device is out of memory: the processor's kernels can go on,
  // other devices have failed anyway.
  std::list<std::vector<std::byte>> instead_;
  mutable Status status_;
};

}  // namespace

Result<CheckedKernel> CheckOnDevice(Device& device, const KernelCheck& check, uint64_t seed,
                                    bool large) {
  DeviceRig rig(device);
  CheckedKernel checked = RunCheck(check, rig, seed, large);
  MOTLEY_RETURN_IF_ERROR(rig.status().WithContext(std::string(check.kernel)));
  return checked;
}

Status CheckDevice(Device& device, uint64_t seed, bool large,
                   const std::function<void(const CheckedKernel&)>& report) {
  for (const KernelCheck& check : KernelChecks()) {
    MOTLEY_ASSIGN_OR_RETURN(const CheckedKernel checked, CheckOnDevice(device, check, seed, large));
    report(checked);
  }
  return Status::Ok();
}

}  // namespace motley::check
