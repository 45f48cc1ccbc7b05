// SPDX-License-Identifier: Apache-2.0
#include "tests/devices/fake_cuda.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "devices/cuda/cublas.h"
#include "devices/cuda/launch.cuh"
#include "tests/devices/column_major.h"

namespace motley::conformance {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

cudaError_t Fails(cudaError_t error) {
  last_error = error;
  return error;
}

struct FakeStream {
  cuda::HostBlocks blocks;  // First: the driver's kernels find it by the stream's address.
  int device;
  bool hasty;
  struct Work {
    std::function<void()> run;
    bool frees;  // Happens on a lost device too, so that tests can count.
  };
  std::deque<Work> waiting;
  size_t submitted = 0;
  size_t executed = 0;

  void Add(std::function<void()> run, bool frees = false) {
    waiting.push_back({std::move(run), frees});
    ++submitted;
    if (hasty) RunTo(submitted);
  }
  void RunTo(size_t ticket) {
    for (; executed < ticket; ++executed) {
      if (waiting.front().frees || !FakeCuda::Get().lost()) waiting.front().run();
      waiting.pop_front();
    }
  }
};

struct FakeEvent {
  FakeStream* stream = nullptr;
  size_t ticket = 0;
};

struct FakePool {
  int device;
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

// Blocks of device memory: their size and device.
std::map<void*, std::pair<size_t, int>>& DeviceBlocks() {
  static std::map<void*, std::pair<size_t, int>> blocks;
  return blocks;
}

cudaError_t Allocate(void** memory, size_t size, int device) {
  FakeCuda& fake = FakeCuda::Get();
  FakeDevice& on = fake.devices[device];
  if (size > on.memory_bytes - on.used_bytes) return Fails(cudaErrorMemoryAllocation);
  if (posix_memalign(memory, 256, size) != 0) return Fails(cudaErrorMemoryAllocation);
  std::memset(*memory, 0xff, size);
  on.used_bytes += size;
  DeviceBlocks()[*memory] = {size, device};
  ++fake.alive;
  return cudaSuccess;
}

void Release(void* memory) {
  FakeCuda& fake = FakeCuda::Get();
  const auto block = DeviceBlocks().find(memory);
  ASSERT_NE(block, DeviceBlocks().end());
  fake.devices[block->second.second].used_bytes -= block->second.first;
  DeviceBlocks().erase(block);
  std::free(memory);
  --fake.alive;
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
  EXPECT_EQ(alive, 0) << "something was not given back";
  driver_version = 13000;
  count_error = cudaSuccess;
  devices.assign(2, FakeDevice{});
  has_cublas = true;
  hasty = false;
  cublas_status = CUBLAS_STATUS_SUCCESS;
  planned_.clear();
  lost_ = cudaSuccess;
  last_error = cudaSuccess;
}

void FakeCuda::FailAt(const std::string& function, cudaError_t error, int good, bool sticky) {
  planned_[function] = {error, good, sticky};
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
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    default: return Fails(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  current_device = device;
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
    made->Add(std::move(launch));
  };
  *stream = reinterpret_cast<cudaStream_t>(made);
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  Of(stream)->RunTo(Of(stream)->submitted);
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

// The work goes on while somebody looks.
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
  if (memory != nullptr) Release(memory);
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
  *pool = reinterpret_cast<cudaMemPool_t>(new FakePool{properties->location.id});
  fake.Make();
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
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

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  MOTLEY_FAKE_CALL;
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** memory, size_t size, cudaMemPool_t pool, cudaStream_t) {
  MOTLEY_FAKE_CALL;
  return Allocate(memory, size, Of(pool)->device);
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  CurrentOf(stream)->Add([memory] { Release(memory); }, true);
  return fake.Enter(__func__);
}

namespace motley::cuda {
namespace {

struct FakeHandle {
  int device;
  FakeStream* stream;
};

FakeHandle* Of(cublasHandle_t handle) { return reinterpret_cast<FakeHandle*>(handle); }

cublasStatus_t Create(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new FakeHandle{current_device, nullptr});
  FakeCuda::Get().Make();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Destroy(cublasHandle_t handle) {
  delete Of(handle);
  --FakeCuda::Get().alive;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Sgemm(cublasHandle_t handle, cublasOperation_t a_side, cublasOperation_t b_side,
                     int64_t m, int64_t n, int64_t k, const float* alpha, const float* a,
                     int64_t a_stride, const float* b, int64_t b_stride, const float* beta,
                     float* c, int64_t c_stride) {
  FakeCuda& fake = FakeCuda::Get();
  const std::lock_guard lock(fake.mutex);
  if (fake.cublas_status != CUBLAS_STATUS_SUCCESS) {
    return static_cast<cublasStatus_t>(fake.cublas_status);
  }
  const auto size = [](int64_t value) { return static_cast<size_t>(value); };
  const ColumnMajorProduct product{a_side == CUBLAS_OP_T,
                                   b_side == CUBLAS_OP_T,
                                   size(m),
                                   size(n),
                                   size(k),
                                   *alpha,
                                   a,
                                   size(a_stride),
                                   b,
                                   size(b_stride),
                                   *beta,
                                   c,
                                   size(c_stride)};
  EXPECT_EQ(current_device, Of(handle)->device) << "work for another device";
  Of(handle)->stream->Add([product] { MultiplyColumnMajor(product); });
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

const Cublas* LoadCublas(char* reason, size_t reason_size) {
  static const Cublas cublas = {
      .create = Create,
      .destroy = Destroy,
      .set_stream =
          [](cublasHandle_t handle, cudaStream_t stream) {
            Of(handle)->stream = conformance::Of(stream);
            return CUBLAS_STATUS_SUCCESS;
          },
      // After the stream, which would take it away.
      .set_workspace =
          [](cublasHandle_t handle, void* memory, size_t) {
            EXPECT_NE(Of(handle)->stream, nullptr);
            EXPECT_EQ(DeviceBlocks().at(memory).second, Of(handle)->device);
            return CUBLAS_STATUS_SUCCESS;
          },
      .set_math_mode =
          [](cublasHandle_t, cublasMath_t mode) {
            EXPECT_EQ(mode, CUBLAS_DEFAULT_MATH);
            return CUBLAS_STATUS_SUCCESS;
          },
      .sgemm = Sgemm,
      .status_name = [](cublasStatus_t) { return "CUBLAS_STATUS"; },
      .status_string = [](cublasStatus_t) { return "as planned"; },
  };
  if (FakeCuda::Get().has_cublas) return &cublas;
  std::snprintf(reason, reason_size, "cuBLAS cannot be loaded: as planned");
  return nullptr;
}

}  // namespace motley::cuda
