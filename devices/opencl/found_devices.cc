// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/found_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "devices/opencl/cl_errors.h"
#include "devices/opencl/pocl_folder.h"

namespace motley::opencl {
namespace {

template <typename T>
T Number(cl_device_id device, cl_device_info what) {
  T value{};
  return clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) == CL_SUCCESS ? value : T{};
}

// Wraps clGetDeviceInfo and clGetPlatformInfo; their texts end with a 0.
template <typename Get, typename Id>
std::string Text(Get get, Id id, cl_uint what) {
  size_t size = 0;
  if (get(id, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return "";
  std::string text(size, '\0');
  if (get(id, what, size, text.data(), nullptr) != CL_SUCCESS) return "";
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

// True for "OpenCL 1.2 ..." and later.
bool SpeaksVersion12(const std::string& version) {
  int major = 0;
  int minor = 0;
  return std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) == 2 &&
         (major > 1 || minor >= 2);
}

std::string WhyNot(const FoundDevice& device) {
  const std::string version = Text(clGetDeviceInfo, device.id, CL_DEVICE_VERSION);
  if (!SpeaksVersion12(version)) return fmt::format("it has '{}'; OpenCL 1.2 is needed", version);
  if (Number<cl_bool>(device.id, CL_DEVICE_AVAILABLE) == CL_FALSE) {
    return "its driver reports that it is not available";
  }
  if (Number<cl_bool>(device.id, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) {
    return "its driver has no compiler for OpenCL C";
  }
  if (Number<cl_bool>(device.id, CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE &&
      std::endian::native == std::endian::little) {
    return "it stores numbers in the other byte order";
  }
  return "";
}

FoundDevice Describe(cl_platform_id platform, cl_device_id id) {
  FoundDevice device{.platform = platform, .id = id};
  device.name = Text(clGetDeviceInfo, id, CL_DEVICE_NAME);
  // Some versions are followed by two blanks and build options.
  const std::string version = Text(clGetPlatformInfo, platform, CL_PLATFORM_VERSION);
  device.platform_text = fmt::format("{}, {}", Text(clGetPlatformInfo, platform, CL_PLATFORM_NAME),
                                     version.substr(0, version.find("  ")));
  device.version_text = fmt::format("{}, driver {}", Text(clGetDeviceInfo, id, CL_DEVICE_VERSION),
                                    Text(clGetDeviceInfo, id, CL_DRIVER_VERSION));
  device.is_processor =
      (Number<cl_device_type>(id, CL_DEVICE_TYPE) & cl_device_type{CL_DEVICE_TYPE_CPU}) != 0;
  // Drivers without vectors return 1; their compilers split vectors.
  device.lanes = std::bit_floor(std::clamp(Number<cl_uint>(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
                                           cl_uint{4}, cl_uint{16}));
  device.units = Number<cl_uint>(id, CL_DEVICE_MAX_COMPUTE_UNITS);
  device.memory_bytes = Number<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device.most_bytes_at_once = Number<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device.most_group_items = Number<size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  device.has_doubles = Number<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  device.reason = WhyNot(device);
  return device;
}

bool IsPocl(cl_platform_id platform) {
  return Text(clGetPlatformInfo, platform, CL_PLATFORM_NAME) == "Portable Computing Language";
}

std::vector<cl_device_id> DevicesOf(cl_platform_id platform) {
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) return {};
  std::vector<cl_device_id> ids(count);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), &count) != CL_SUCCESS) {
    return {};
  }
  return ids;
}

}  // namespace

std::vector<FoundDevice> FindDevices(std::string& reason) {
  cl_uint count = 0;
  const cl_int code = clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(code == CL_SUCCESS ? count : 0);
  if (!platforms.empty()) clGetPlatformIDs(count, platforms.data(), nullptr);
  std::vector<FoundDevice> found;
  std::string without_folder;
  for (const cl_platform_id platform : platforms) {
    const std::string why = IsPocl(platform) ? WhyNotPocl(PoclFolder()) : "";
    if (!why.empty()) without_folder = "; " + why;
    for (const cl_device_id id : DevicesOf(platform)) {
      FoundDevice& device = found.emplace_back(Describe(platform, id));
      if (device.reason.empty()) device.reason = why;
    }
  }
  if (platforms.empty()) {
    reason = fmt::format(
        "no OpenCL platform is installed ({}); install the driver of your device, with its .icd "
        "file in /etc/OpenCL/vendors",
        ErrorName(code));
  } else if (found.empty()) {
    reason = fmt::format("none of {} OpenCL platforms, the first of them {}, has a device{}",
                         platforms.size(), Text(clGetPlatformInfo, platforms[0], CL_PLATFORM_NAME),
                         without_folder);
  }
  return found;
}

}  // namespace motley::opencl
