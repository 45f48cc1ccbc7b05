// SPDX-License-Identifier: Apache-2.0
#include "devices/opencl/program_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace motley::opencl {
namespace {

namespace fs = std::filesystem;

// FNV-1a (Fowler, Noll, Vo). It detects damage and mix-ups, not attacks: the folder is the user's
// own.
uint64_t Hash(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return hash;
}

constexpr char kMagic[8] = {'M', 'o', 't', 'l', 'e', 'y', 'C', '1'};

// Read only on the machine that wrote it, so in the host's byte order. Key and binary follow.
struct Header {
  char magic[8];
  uint64_t key_bytes;
  uint64_t binary_bytes;
  uint64_t binary_hash;
};

std::string HeaderAndKey(std::string_view key, std::string_view binary) {
  Header header{{}, key.size(), binary.size(), Hash(binary)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::string text(sizeof(header), '\0');
  std::memcpy(text.data(), &header, sizeof(header));
  return text.append(key);
}

}  // namespace

std::string CachePath(const std::string& folder, std::string_view key) {
  return fmt::format("{}/opencl-{:016x}.bin", folder, Hash(key));
}

std::optional<std::string> ReadCached(const std::string& folder, std::string_view key) {
  std::ifstream file(CachePath(folder, key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const size_t begin = sizeof(Header) + key.size();
  if (bytes.size() <= begin) return std::nullopt;
  const std::string_view binary = std::string_view(bytes).substr(begin);
  if (HeaderAndKey(key, binary) != std::string_view(bytes).substr(0, begin)) return std::nullopt;
  return std::string(binary);
}

bool WriteCached(const std::string& folder, std::string_view key, std::string_view binary) {
  static std::atomic<uint32_t> counter{0};
  const std::string path = CachePath(folder, key);
  const std::string partial = fmt::format("{}.{}.{}", path, getpid(), counter++);
  std::error_code error;
  fs::create_directories(folder, error);
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file << HeaderAndKey(key, binary) << binary;
  file.close();
  if (file) fs::rename(partial, path, error);
  if (file && !error) return true;
  fs::remove(partial, error);
  return false;
}

}  // namespace motley::opencl
