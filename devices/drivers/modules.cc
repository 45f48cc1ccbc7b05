// SPDX-License-Identifier: Apache-2.0
#include "devices/drivers/modules.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace motley {
namespace {

// True if a file that could not be loaded cannot be opened either, for lack of descriptors or
// memory. The loader itself reports this only in words.
bool IsStarved(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
}

}  // namespace

std::vector<std::string> ModuleFolders() {
  std::vector<std::string> folders;
  if (const char* chosen = std::getenv("MOTLEY_MODULE_DIR"); chosen != nullptr && *chosen != '\0') {
    folders.emplace_back(chosen);
  }
  const auto add = [&folders](const std::filesystem::path& from, std::string_view folder) {
    folders.push_back((from / folder).lexically_normal().string());
  };
  // The file with this code: the program, or a library that the program loaded.
  Dl_info here{};
  std::error_code error;
  if (dladdr(reinterpret_cast<const void*>(&ModuleFolders), &here) != 0) {
    const auto file = std::filesystem::absolute(here.dli_fname, error);
    if (!error && file.filename().string().find(".so") != std::string::npos) {
      for (const char* folder : {"motley", "modules"}) add(file.parent_path(), folder);
    }
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error) return folders;
  for (const char* folder : {"modules", "../modules", "../lib/motley", MOTLEY_INSTALLED_MODULES}) {
    add(program, folder);
  }
  return folders;
}

std::string CacheFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  // The XDG base directory specification says to ignore relative paths.
  if (cache != nullptr && cache[0] == '/') return fmt::format("{}/motley", cache);
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? fmt::format("{}/.cache/motley", home) : "";
}

Module LoadModule(const std::string& file, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    Module module{.path = path.string()};
    module.library = dlopen(module.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module.library == nullptr) {
      module.reason = fmt::format("cannot load {}: {}", module.path, dlerror());
      module.starved = IsStarved(module.path);
    }
    return module;
  }
  return {.reason = fmt::format("no {} in {} (set MOTLEY_MODULE_DIR to the folder that has it)",
                                file, fmt::join(folders, ", "))};
}

}  // namespace motley
