// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/pocl_folder.h"

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace motley::opencl {
namespace {

// Enough for the kernels of a model or two; all kernels together take 1 MiB.
constexpr uint64_t kLeastBytes = uint64_t{4} << 20;

std::string Advice(const std::string& folder, const std::string& what) {
  return fmt::format(
      "PoCL keeps compiled kernels in {}, {}; set POCL_CACHE_DIR to a writable folder", folder,
      what);
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

std::string PoclFolder() {
  if (std::string folder = Variable("POCL_CACHE_DIR"); !folder.empty()) return folder;
  if (const std::string caches = Variable("XDG_CACHE_HOME"); !caches.empty()) {
    return caches + "/pocl/kcache";
  }
  const std::string home = Variable("HOME");
  return home.empty() ? "" : home + "/.cache/pocl/kcache";
}

std::string WhyNotPocl(const std::string& folder) {
  if (folder.empty()) return "";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && access(folder.c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) return Advice(folder, "which cannot be written (" + error.message() + ")");
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return "";
  const uint64_t free_bytes = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free_bytes >= kLeastBytes) return "";
  return Advice(folder, fmt::format("which has only {} KiB free of the {} KiB that it may need",
                                    free_bytes >> 10, kLeastBytes >> 10));
}

}  // namespace motley::opencl
