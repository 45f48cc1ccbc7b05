// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "devices/device_thread.h"
#include "devices/drivers/driver_aborts.h"
#include "devices/drivers/driver_modules.h"
#include "devices/host_device.h"

namespace motley {
namespace {

using Text = std::array<char, 4096>;

// A driver's queue, kept until the device and the last of its memory are gone.
class Queue {
 public:
  Queue(const motley_driver& driver, motley_driver_queue* queue) : driver_(driver), queue_(queue) {}
  ~Queue() {
    if (DriverEnded(driver_.name).ok()) driver_.close(queue_);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const motley_driver& driver() const { return driver_; }
  motley_driver_queue* get() const { return queue_; }
  // Does nothing once a thread is stopped inside the driver, because that thread may hold locks.
  void Free(void* memory) {
    if (DriverEnded(driver_.name).ok()) driver_.free(queue_, memory);
  }

 private:
  const motley_driver& driver_;
  motley_driver_queue* const queue_;
};

class DriverDevice final : public Device {
 public:
  DriverDevice(Loop& loop, DeviceInfo info, const motley_driver& driver, uint64_t id,
               std::string kernels_folder)
      : info_(std::move(info)),
        driver_(driver),
        id_(id),
        kernels_folder_(std::move(kernels_folder)),
        thread_(loop, [this](Work work) { return Run(std::move(work)); }) {}

  const DeviceInfo& info() const override { return info_; }
  const motley_kernels& kernels() const override { return *kernels_; }
  void* queue() const override { return queue_ == nullptr ? nullptr : queue_->get(); }
  bool host_accessible() const override { return false; }
  ParallelFor& parallel() override { return *parallel_; }

  Result<Buffer> Allocate(size_t size_bytes) override {
    MOTLEY_RETURN_IF_ERROR(DriverEnded(driver_.name));
    MOTLEY_RETURN_IF_ERROR(EnsureOpen());
    void* memory = queue_->driver().allocate(queue_->get(), size_bytes);
    if (memory == nullptr) {
      return Status::Resource(
          fmt::format("out of memory: a buffer of {} bytes does not fit on {}, which has {} bytes",
                      size_bytes, info_.name, info_.memory_bytes));
    }
    return Buffer(memory, size_bytes, [queue = queue_](void* data) { queue->Free(data); });
  }
  Moment Mark() override { return queue_->driver().mark(queue_->get()); }
  Status CopyInAfter(Moment after, const Buffer& to, size_t offset, BytesView from) override {
    MOTLEY_RETURN_IF_ERROR(CheckRange(to, offset, from.size()));
    if (from.empty()) return Status::Ok();
    auto* const place = static_cast<std::byte*>(to.data()) + offset;
    return StatusOf(
        queue_->driver().copy_in(queue_->get(), after, place, from.data(), from.size()));
  }
  Status CopyOutAfter(Moment after, const Buffer& from, size_t offset, size_t size_bytes,
                      const TakePiece& take) override {
    MOTLEY_RETURN_IF_ERROR(CheckRange(from, offset, size_bytes));
    if (size_bytes == 0) return Status::Ok();
    const auto* const place = static_cast<const std::byte*>(from.data()) + offset;
    const auto hand_over = [](void* to, size_t at, const void* bytes, size_t size) {
      (*static_cast<const TakePiece*>(to))(at, {static_cast<const std::byte*>(bytes), size});
    };
    return StatusOf(queue_->driver().copy_out(queue_->get(), after, place, size_bytes, hand_over,
                                              const_cast<TakePiece*>(&take)));
  }
  void Submit(double, Work work, Done done) override {
    thread_.Submit(std::move(work), std::move(done));
  }
  void PostFromWork(Task task) override { thread_.PostFromWork(std::move(task)); }
  bool Rest(Duration limit) override {
    return thread_.Rest(limit, [this] {
      const InDriver inside(driver_.name);
      Close();
      return Status::Ok();
    });
  }
  void Abandon() override { thread_.Abandon(); }

 private:
  static constexpr motley_kernels kNone{};  // The table before the device is open.

  Status Open() {
    Text error{};
    const StartsDriverThreads opening(driver_.name);
    motley_driver_queue* const queue =
        driver_.open(id_, kernels_folder_.empty() ? nullptr : kernels_folder_.c_str(), error.data(),
                     error.size());
    if (queue == nullptr) {
      return Status::Unavailable(fmt::format("cannot use {}: {}", info_.name, error.data()));
    }
    auto owned = std::make_shared<Queue>(driver_, queue);
    const motley_kernels* const kernels = driver_.kernels(queue);
    if (kernels == nullptr || kernels->version != MOTLEY_KERNELS_VERSION ||
        kernels->struct_size < sizeof(motley_kernels)) {
      return Status::Unavailable(
          fmt::format("cannot use {}: the kernel table of its driver '{}' is not version {}; "
                      "rebuild the driver together with the program",
                      info_.name, driver_.name, MOTLEY_KERNELS_VERSION));
    }
    queue_ = std::move(owned);
    kernels_ = kernels;
    return Status::Ok();
  }

  // Opens the device once; a failure is permanent.
  Status EnsureOpen() {
    std::call_once(open_once_, [this] { why_ = Open(); });
    return why_;
  }

  // The queue lives on as long as memory of it does.
  void Close() {
    std::call_once(open_once_, [] {});
    why_ = Status::Unavailable(fmt::format("{} is closed", info_.name));
    kernels_ = &kNone;
    queue_.reset();
  }

  // The Status of a call; the queue knows what failed.
  Status StatusOf(int code) { return code == MOTLEY_DRIVER_OK ? Status::Ok() : Finish(); }

  Status Finish() {
    Text error{};
    const int code = queue_->driver().finish(queue_->get(), error.data(), error.size());
    if (code == MOTLEY_DRIVER_OK) return Status::Ok();
    const std::string text = fmt::format("{}: {}", info_.name, error.data());
    return code == MOTLEY_DRIVER_NO_MEMORY ? Status::Resource(text) : Status::Unavailable(text);
  }

  // Kernels report failures only at the end. A lost device is the more important error, whatever
  // the work returned.
  Status Run(Work work) {
    MOTLEY_RETURN_IF_ERROR(DriverEnded(driver_.name));
    const InDriver inside(driver_.name);
    MOTLEY_RETURN_IF_ERROR(EnsureOpen());
    const Status status = RunWork(std::move(work));
    const Status finished = Finish();
    if (status.ok()) return finished;
    if (finished.code() != StatusCode::kUnavailable) return status;
    return finished.WithContext(status.message());
  }

  const DeviceInfo info_;
  const motley_driver& driver_;
  const uint64_t id_;  // Assigned by the driver.
  const std::string kernels_folder_;
  std::once_flag open_once_;  // For opening the device.
  Status why_;                // Why the device cannot be used.
  std::shared_ptr<Queue> queue_;
  const motley_kernels* kernels_ = &kNone;
  const std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
  DeviceThread thread_;  // Last, so that it is destroyed first.
};

}  // namespace

Result<std::unique_ptr<Device>> MakeDriverDevice(Loop& loop, const motley_driver& driver,
                                                 const motley_driver_device& found,
                                                 const std::string& kernels_folder) {
  if (found.reason[0] != '\0') {
    return Status::Unavailable(fmt::format("{}: {}", found.name, found.reason));
  }
  DeviceInfo info{.name = fmt::format("{} {}", driver.name, found.name),
                  .kind = static_cast<DeviceKind>(found.kind),
                  .memory_bytes = found.memory_bytes};
  try {
    return std::unique_ptr<Device>(
        std::make_unique<DriverDevice>(loop, std::move(info), driver, found.id, kernels_folder));
  } catch (const std::exception& error_of_thread) {
    return Status::Resource(
        fmt::format("cannot start the thread of a device: {}", error_of_thread.what()));
  }
}

}  // namespace motley
