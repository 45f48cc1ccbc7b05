// SPDX-License-Identifier: Apache-2.0
#include "devices/cuda/found_devices.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/device_kind.h"
#include "devices/cuda/cublas.h"

namespace motley::cuda {
namespace {

int Major(int version) { return version / 1000; }
int Minor(int version) { return version % 1000 / 10; }

int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) return 0;
  return value;
}

// This variable overrides what a program requests from cuBLAS.
bool ForcesTf32() {
  const char* const value = std::getenv("NVIDIA_TF32_OVERRIDE");
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

// Sets the reason why the device cannot be used; leaves it empty if it can.
void Judge(int index, char* reason, size_t size) {
  const int major = Attribute(cudaDevAttrComputeCapabilityMajor, index);
  const int minor = Attribute(cudaDevAttrComputeCapabilityMinor, index);
  if (10 * major + minor < MOTLEY_CUDA_LEAST) {
    std::snprintf(reason, size,
                  "its compute capability is %d.%d; this build is for %d.%d and newer", major,
                  minor, MOTLEY_CUDA_LEAST / 10, MOTLEY_CUDA_LEAST % 10);
  } else if (Attribute(cudaDevAttrComputeMode, index) == cudaComputeModeProhibited) {
    std::snprintf(reason, size,
                  "its compute mode is \"prohibited\" (nvidia-smi -c DEFAULT ends that)");
  } else if (ForcesTf32()) {
    std::snprintf(reason, size,
                  "NVIDIA_TF32_OVERRIDE makes cuBLAS round factors to 10 bits, so steps would not "
                  "be exact; unset it, or set it to 0");
  } else {
    FindCublas(reason, size);
  }
}

}  // namespace

size_t Find(char* reason, size_t reason_size) {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) {
    std::snprintf(reason, reason_size, "no NVIDIA driver is loaded");
    cudaGetLastError();
    return 0;
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error == cudaErrorInsufficientDriver) {
    std::snprintf(reason, reason_size,
                  "the NVIDIA driver is for CUDA %d.%d, this build for %d.%d: update the driver",
                  Major(version), Minor(version), Major(CUDART_VERSION), Minor(CUDART_VERSION));
    return 0;
  }
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    std::snprintf(reason, reason_size,
                  "the NVIDIA driver shows no device (CUDA_VISIBLE_DEVICES may hide them)");
    return 0;
  }
  if (error != cudaSuccess) {
    std::snprintf(reason, reason_size, "the NVIDIA driver does not work: %s, %s",
                  cudaGetErrorName(error), cudaGetErrorString(error));
    return 0;
  }
  return static_cast<size_t>(count);
}

void Describe(size_t index, motley_driver_device* device) {
  const int number = static_cast<int>(index);
  *device = motley_driver_device{};
  device->kind = static_cast<int>(DeviceKind::kCuda);
  device->id = index;  // CUDA numbers its devices once, when it starts.
  int version = 0;
  cudaDriverGetVersion(&version);
  std::snprintf(device->platform, sizeof(device->platform), "CUDA %d.%d", Major(version),
                Minor(version));
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, number);
  if (error != cudaSuccess) {
    std::snprintf(device->name, sizeof(device->name), "device %d", number);
    std::snprintf(device->reason, sizeof(device->reason), "it does not answer: %s, %s",
                  cudaGetErrorName(error), cudaGetErrorString(error));
    cudaGetLastError();
    return;
  }
  std::snprintf(device->name, sizeof(device->name), "%.127s", properties.name);
  device->units = static_cast<uint32_t>(properties.multiProcessorCount);
  device->memory_bytes = properties.totalGlobalMem;
  Judge(number, device->reason, sizeof(device->reason));
}

}  // namespace motley::cuda
