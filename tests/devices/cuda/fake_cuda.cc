// SPDX-License-Identifier: Apache-2.0
#include "tests/devices/cuda/fake_cuda.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "devices/cuda/contexts.h"
#include "devices/cuda/kernels/launch.cuh"

namespace motley::conformance {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;
thread_local bool has_context = false;  // False: the device is the default one.

cudaError_t Fails(cudaError_t error) {
  last_error = error;
  return error;
}

struct FakeStream {
  cuda::HostBlocks blocks;  // First: kernels find it by the stream's address.
  int device;
  bool hasty;
  std::deque<std::function<void()>> waiting;
  size_t submitted = 0;
  size_t executed = 0;

  void Add(std::function<void()> run) {
    waiting.push_back(std::move(run));
    ++submitted;
    if (hasty) RunTo(submitted);
  }
  void RunTo(size_t ticket) {
    for (; executed < ticket; ++executed) {
      if (!FakeCuda::Get().lost()) waiting.front()();
      waiting.pop_front();
    }
  }
};

struct FakeEvent {
  FakeStream* stream = nullptr;
  size_t ticket = 0;
};

// Freed blocks are reused at once, whatever earlier kernels still do with them.
struct FakePool {
  int device;
  std::multimap<size_t, void*> free;
};

std::map<const void*, size_t>& PinnedBlocks() {
  static std::map<const void*, size_t> blocks;
  return blocks;
}

bool IsPinned(const void* from, size_t size) {
  auto block = PinnedBlocks().upper_bound(from);
  if (block == PinnedBlocks().begin()) return false;
  --block;
  return static_cast<const char*>(from) + size <=
         static_cast<const char*>(block->first) + block->second;
}

struct DeviceBlock {
  size_t size;
  int device;
  FakePool* pool;
};

std::map<void*, DeviceBlock>& DeviceBlocks() {
  static std::map<void*, DeviceBlock> blocks;
  return blocks;
}

cudaError_t Allocate(void** memory, size_t size, int device, FakePool* pool = nullptr) {
  FakeCuda& fake = FakeCuda::Get();
  FakeDevice& on = fake.devices[device];
  if (size > on.memory_bytes - on.used_bytes) return Fails(cudaErrorMemoryAllocation);
  if (posix_memalign(memory, 256, size) != 0) return Fails(cudaErrorMemoryAllocation);
  std::memset(*memory, 0xff, size);
  on.used_bytes += size;
  DeviceBlocks()[*memory] = {size, device, pool};
  ++fake.alive;
  return cudaSuccess;
}

void Release(void* memory) {
  FakeCuda& fake = FakeCuda::Get();
  const auto block = DeviceBlocks().find(memory);
  ASSERT_NE(block, DeviceBlocks().end());
  fake.devices[block->second.device].used_bytes -= block->second.size;
  DeviceBlocks().erase(block);
  std::free(memory);
}

void Trim(FakePool& pool) {
  for (const auto& [size, memory] : pool.free) Release(memory);
  pool.free.clear();
}

std::set<FakeStream*>& Streams() {
  static std::set<FakeStream*> streams;
  return streams;
}

FakeStream* Of(cudaStream_t stream) { return reinterpret_cast<FakeStream*>(stream); }
FakeStream* CurrentOf(cudaStream_t stream) {
  EXPECT_EQ(current_device, Of(stream)->device) << "work for another device";
  return Of(stream);
}
FakeEvent* Of(cudaEvent_t event) { return reinterpret_cast<FakeEvent*>(event); }
FakePool* Of(cudaMemPool_t pool) { return reinterpret_cast<FakePool*>(pool); }

}  // namespace

FakeCuda& FakeCuda::Get() {
  static FakeCuda fake;
  static const bool ready = (fake.Reset(), true);
  static_cast<void>(ready);
  return fake;
}

void FakeCuda::Reset() {
  EXPECT_EQ(alive, 0) << "something was not freed";
  driver_version = 13000;
  count_error = cudaSuccess;
  devices.assign(2, FakeDevice{});
  has_cublas = true;
  hasty = false;
  cublas_status = 0;
  planned_.clear();
  lost_ = cudaSuccess;
  last_error = cudaSuccess;
}

size_t FakeCuda::Waiting() const {
  size_t waiting = 0;
  for (const FakeStream* stream : Streams()) waiting += stream->waiting.size();
  return waiting;
}

void FakeCuda::FailAt(const std::string& function, cudaError_t error, int good, bool sticky) {
  planned_[function] = {error, good, sticky};
}

int FakeCuda::CurrentDevice() const { return current_device; }

int FakeCuda::DeviceOf(void* memory) const { return DeviceBlocks().at(memory).device; }

void FakeCuda::Add(cudaStream_t stream, std::function<void()> run) {
  EXPECT_EQ(current_device, Of(stream)->device) << "work for another device";
  ++launches;
  Of(stream)->Add(std::move(run));
}

cudaError_t FakeCuda::Enter(const char* function) {
  const auto plan = planned_.find(function);
  if (plan != planned_.end() && plan->second.good-- == 0) {
    if (plan->second.sticky) lost_ = plan->second.error;
    return Fails(plan->second.error);
  }
  return lost_ == cudaSuccess ? cudaSuccess : Fails(lost_);
}

}  // namespace motley::conformance

using motley::conformance::FakeCuda;
using namespace motley::conformance;  // NOLINT: the functions below belong to no namespace.

#define MOTLEY_FAKE_CALL                  \
  FakeCuda& fake = FakeCuda::Get();       \
  const std::lock_guard lock(fake.mutex); \
  if (const cudaError_t error = fake.Enter(__func__); error != cudaSuccess) return error

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
  }
}
const char* cudaGetErrorString(cudaError_t) { return "as planned"; }

cudaError_t cudaDriverGetVersion(int* version) {
  MOTLEY_FAKE_CALL;
  *version = fake.driver_version;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  MOTLEY_FAKE_CALL;
  if (fake.count_error != cudaSuccess) return Fails(fake.count_error);
  *count = static_cast<int>(fake.devices.size());
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  MOTLEY_FAKE_CALL;
  std::strcpy(properties->name, "Fake");
  properties->multiProcessorCount = 7;
  properties->totalGlobalMem = fake.devices[device].memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  MOTLEY_FAKE_CALL;
  const FakeDevice& of = fake.devices[device];
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = of.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = of.minor; break;
    case cudaDevAttrComputeMode: *value = of.compute_mode; break;
    case cudaDevAttrMemoryPoolsSupported: *value = of.has_pools ? 1 : 0; break;
    default: return Fails(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

// Also succeeds for a lost device.
cudaError_t cudaSetDevice(int device) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  const cudaError_t error = fake.lost() ? cudaSuccess : fake.Enter(__func__);
  if (error != cudaSuccess) return error;
  current_device = device;
  has_context = true;
  ++fake.devices[device].chosen;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  MOTLEY_FAKE_CALL;
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  auto* made = new FakeStream{};
  made->device = current_device;
  made->hasty = std::exchange(fake.hasty, false);
  made->blocks.later = [made, &fake](std::function<void()> launch) {
    const std::lock_guard now(fake.mutex);
    ++fake.launches;
    made->Add(std::move(launch));
  };
  *stream = reinterpret_cast<cudaStream_t>(made);
  Streams().insert(made);
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  Of(stream)->RunTo(Of(stream)->submitted);
  Streams().erase(Of(stream));
  delete Of(stream);
  --fake.alive;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  MOTLEY_FAKE_CALL;
  Of(stream)->RunTo(Of(stream)->submitted);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  MOTLEY_FAKE_CALL;
  *event = reinterpret_cast<cudaEvent_t>(new FakeEvent);
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  delete Of(event);
  --fake.alive;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  MOTLEY_FAKE_CALL;
  Of(event)->stream = Of(stream);
  Of(event)->ticket = Of(stream)->submitted;
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  MOTLEY_FAKE_CALL;
  CurrentOf(stream)->Add(
      [of = Of(event)->stream, ticket = Of(event)->ticket] { of->RunTo(ticket); });
  return cudaSuccess;
}

// The work progresses while somebody polls.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  MOTLEY_FAKE_CALL;
  FakeStream& stream = *Of(event)->stream;
  if (stream.executed >= Of(event)->ticket) return cudaSuccess;
  stream.RunTo(stream.executed + 1);
  return Fails(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  MOTLEY_FAKE_CALL;
  Of(event)->stream->RunTo(Of(event)->ticket);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t size, unsigned) {
  MOTLEY_FAKE_CALL;
  *memory = std::malloc(size);
  PinnedBlocks()[*memory] = size;
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  PinnedBlocks().erase(memory);
  std::free(memory);
  --fake.alive;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, size_t size) {
  MOTLEY_FAKE_CALL;
  ++fake.made;
  return Allocate(memory, size, current_device);
}

cudaError_t cudaFree(void* memory) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  if (memory == nullptr) return cudaSuccess;
  Release(memory);
  --fake.alive;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  MOTLEY_FAKE_CALL;
  EXPECT_TRUE(IsPinned(kind == cudaMemcpyHostToDevice ? from : to, size));
  CurrentOf(stream)->Add([=] { std::memcpy(to, from, size); });
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  MOTLEY_FAKE_CALL;
  const FakeDevice& on = fake.devices[properties->location.id];
  EXPECT_TRUE(on.has_pools);
  if (on.refuses_pools) return Fails(cudaErrorNotSupported);
  *pool = reinterpret_cast<cudaMemPool_t>(new FakePool{properties->location.id, {}});
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  Trim(*Of(pool));
  delete Of(pool);
  --fake.alive;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  MOTLEY_FAKE_CALL;
  EXPECT_EQ(attribute, cudaMemPoolAttrReleaseThreshold);
  EXPECT_EQ(*static_cast<uint64_t*>(value), UINT64_MAX);
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
  MOTLEY_FAKE_CALL;
  Trim(*Of(pool));
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** memory, size_t size, cudaMemPool_t pool, cudaStream_t) {
  MOTLEY_FAKE_CALL;
  std::multimap<size_t, void*>& free = Of(pool)->free;
  const auto fits = free.lower_bound(size);
  if (fits == free.end()) return Allocate(memory, size, Of(pool)->device, Of(pool));
  *memory = fits->second;
  free.erase(fits);
  ++fake.alive;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  CurrentOf(stream);
  const DeviceBlock& block = DeviceBlocks().at(memory);
  block.pool->free.emplace(block.size, memory);
  --fake.alive;
  return fake.Enter(__func__);
}

namespace motley::cuda {

void* CurrentContext() { return has_context ? &FakeCuda::Get().devices[current_device] : nullptr; }

void SetCurrentContext(void* context) {
  has_context = context != nullptr;
  current_device =
      has_context
          ? static_cast<int>(static_cast<FakeDevice*>(context) - &FakeCuda::Get().devices[0])
          : 0;
}

}  // namespace motley::cuda
