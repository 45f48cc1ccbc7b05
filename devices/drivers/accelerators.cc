// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/accelerators.h"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace motley {
namespace {

namespace fs = std::filesystem;

// Devices of NVIDIA, of most others, of AMD, of Windows' Linux subsystem, of small boards, and of
// accelerators without a display.
constexpr const char* kNodes[] = {"nvidiactl", "dri", "kfd", "dxg", "mali0", "accel"};

// "0x030000" is a display controller; class 0x12 is a processing accelerator.
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
  // Some device files are only made when the device is first used.
  for (fs::directory_iterator device(pci, error), end; !error && device != end;
       device.increment(error)) {
    if (IsAccelerator(device->path())) return true;
  }
  return false;
}

}  // namespace motley
