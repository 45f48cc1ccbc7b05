// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/accelerators.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace motley {
namespace {

namespace fs = std::filesystem;

// NVIDIA's, that of most others, AMD's, Windows' for its Linux, small boards', and accelerators
// that show nothing.
constexpr const char* kNodes[] = {"nvidiactl", "dri", "kfd", "dxg", "mali0", "accel"};

// "0x030000": a display controller; class 12 computes and nothing else.
bool IsAccelerator(const fs::path& device) {
  std::string kind;
  std::ifstream(device / "class") >> kind;
  return kind.starts_with("0x03") || kind.starts_with("0x12");
}

}  // namespace

bool AnyAccelerator(const std::string& dev, const std::string& pci) {
  std::error_code error;
  for (const char* node : kNodes) {
    if (fs::exists(fs::path(dev) / node, error)) return true;
  }
  // Some nodes are made when the device is first used.
  for (fs::directory_iterator device(pci, error), end; !error && device != end;
       device.increment(error)) {
    if (IsAccelerator(device->path())) return true;
  }
  return false;
}

}  // namespace motley
