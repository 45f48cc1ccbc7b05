// SPDX-License-Identifier: Apache-2.0
// CUDA's runtime and cuBLAS as far as the driver calls them, on the host: streams whose work waits
// until somebody waits for it, memory with an end, failures on demand. The driver linked with this
// is the driver but for its code for devices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace motley::conformance {

struct FakeDevice {
  int major = 9, minor = 0;
  int compute_mode = cudaComputeModeDefault;
  size_t memory_bytes = size_t{1} << 30;
  size_t used_bytes = 0;       // By whoever: this program, or others.
  bool has_pools = true;       // As its attribute says,
  bool refuses_pools = false;  // and as making one shows.
  int chosen = 0;              // How often a thread set it, and so made a context on it.
};

class FakeCuda {
 public:
  static FakeCuda& Get();
  // As it was at first; nothing may be open.
  void Reset();

  // The call of `function` that comes after `good` others fails; `sticky`: from then on every call
  // does, as on a device that is lost.
  void FailAt(const std::string& function, cudaError_t error, int good = 0, bool sticky = false);

  int driver_version = 13000;
  cudaError_t count_error = cudaSuccess;
  std::vector<FakeDevice> devices;
  bool has_cublas = true;
  int loaded = 0;         // How often somebody loaded it.
  int cublas_status = 0;  // Of the next products.
  int launches = 0;       // Of kernels and products, ever.
  // The next stream's work runs at once instead of as late as it may, and other streams' only as
  // far as it waits for them. Once.
  bool hasty = false;
  // Memory, streams, events, pools and handles that are there now, and that ever were.
  int alive = 0;
  int made = 0;

  // What was called on the streams there are and has not run.
  size_t Waiting() const;

  // For the functions themselves.
  std::recursive_mutex mutex;
  cudaError_t Enter(const char* function);
  int CurrentDevice() const;  // The calling thread's.
  int DeviceOf(void* memory) const;
  // Launches something on the stream, which must be the current device's.
  void Add(cudaStream_t stream, std::function<void()> run);
  void Make() { ++alive, ++made; }
  bool lost() const { return lost_ != cudaSuccess; }

 private:
  struct Planned {
    cudaError_t error;
    int good;
    bool sticky;
  };
  std::map<std::string, Planned> planned_;
  cudaError_t lost_ = cudaSuccess;
};

}  // namespace motley::conformance
