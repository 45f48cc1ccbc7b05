// SPDX-License-Identifier: Apache-2.0
// A fake of CUDA's runtime and cuBLAS on the host, with the functions that the driver calls.
// Streams run their work only when somebody waits for it, memory is limited, and failures are
// injected on demand. A driver linked with this is complete except for its device code.
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
  size_t used_bytes = 0;       // By this program and others.
  bool has_pools = true;       // The value of its attribute.
  bool refuses_pools = false;  // Making a pool fails all the same.
  int chosen = 0;              // Times a thread set it, which makes a context on it.
};

class FakeCuda {
 public:
  static FakeCuda& Get();
  // Restores the initial state; nothing may be open.
  void Reset();

  // Makes the call of `function` after `good` more successful ones fail. With `sticky` all later
  // calls fail as well, as on a lost device.
  void FailAt(const std::string& function, cudaError_t error, int good = 0, bool sticky = false);

  int driver_version = 13000;
  cudaError_t count_error = cudaSuccess;
  std::vector<FakeDevice> devices;
  bool has_cublas = true;
  int loaded = 0;         // Times that cuBLAS was loaded.
  int cublas_status = 0;  // Result of the next products.
  int launches = 0;       // Total of kernels and products.
  // For the next stream, once: its work runs at once instead of as late as possible, and work of
  // other streams runs only if it waits for that.
  bool hasty = false;
  // Memory, streams, events, pools and handles that exist now, and the total ever made.
  int alive = 0;
  int made = 0;

  // Calls on all streams that have not run.
  size_t Waiting() const;

  // For the fake functions.
  std::recursive_mutex mutex;
  cudaError_t Enter(const char* function);
  int CurrentDevice() const;  // The calling thread's.
  int DeviceOf(void* memory) const;
  // Launches work on the stream, which must be on the current device.
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
