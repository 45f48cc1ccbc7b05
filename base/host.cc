// SPDX-License-Identifier: Apache-2.0
#include "base/host.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace motley {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The number at the beginning of `text`, after blanks. "max" and empty files have none.
std::optional<uint64_t> NumberIn(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// The number after `name` at the beginning of a line.
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view name) {
  for (size_t line = 0; line < text.size(); line = text.find('\n', line) + 1) {
    if (text.substr(line, name.size()) == name) return NumberIn(text.substr(line + name.size()));
    if (text.find('\n', line) == std::string_view::npos) break;
  }
  return std::nullopt;
}

// One of the two layouts in which the kernel shows control groups.
struct Layout {
  std::string folder;  // The mount point of the groups' tree.
  std::string_view limit, used, cache;
};

// The folders of the process's group and of all groups above it, the root of the tree last.
template <typename Visit>
void WalkUp(const Layout& layout, std::string group, Visit visit) {
  // A container may see its own group as the root although the list names the host's path. Folders
  // that do not exist set no limit, and the walk always ends at the root.
  while (true) {
    visit(layout.folder + group);
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// Calls `visit(layout, folder)` for every group that may limit this process's memory.
template <typename Visit>
void ForEachGroup(const std::string& root, Visit visit) {
  const Layout v2{root + "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
  const Layout v1{root + "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                  "total_inactive_file "};
  const std::string list = ReadText(root + "/proc/self/cgroup");
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    // "0::/group" in the newer layout, "4:memory:/group" or "4:cpu,memory:/group" in the older.
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string controllers =
        "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const bool newer = controllers == ",,";
    if (!newer && controllers.find(",memory,") == std::string::npos) continue;
    std::string group(line.substr(second + 1));
    while (!group.empty() && group.back() == '/') group.pop_back();
    const Layout& layout = newer ? v2 : v1;
    WalkUp(layout, std::move(group), [&](const std::string& folder) { visit(layout, folder); });
  }
}

uint64_t GroupLimit(const std::string& root) {
  uint64_t least = kNoLimit;
  ForEachGroup(root, [&least](const Layout& layout, const std::string& folder) {
    const auto limit = NumberIn(ReadText(folder + "/" + std::string(layout.limit)));
    least = std::min(least, limit.value_or(kNoLimit));
  });
  return least;
}

// The memory that the groups leave free. Unused file pages count as free: the kernel drops them
// when memory is needed.
uint64_t GroupAvailable(const std::string& root) {
  uint64_t least = kNoLimit;
  ForEachGroup(root, [&least](const Layout& layout, const std::string& folder) {
    const auto limit = NumberIn(ReadText(folder + "/" + std::string(layout.limit)));
    if (!limit) return;
    const uint64_t used = NumberIn(ReadText(folder + "/" + std::string(layout.used))).value_or(0);
    const uint64_t cache = NumberAfter(ReadText(folder + "/memory.stat"), layout.cache).value_or(0);
    const uint64_t held = used - std::min(used, cache);
    least = std::min(least, *limit - std::min(*limit, held));
  });
  return least;
}

uint64_t PhysicalBytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return kNoLimit;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

// The process's own limits, or with `left` what remains of them.
uint64_t ProcessLimit(const std::string& root, bool left) {
  uint64_t least = kNoLimit;
  if (!root.empty()) return least;  // A test's limits are in its files.
  constexpr std::pair<decltype(RLIMIT_AS), const char*> kLimits[] = {{RLIMIT_AS, "VmSize:"},
                                                                     {RLIMIT_DATA, "VmData:"}};
  for (const auto& [resource, name] : kLimits) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) continue;
    const uint64_t all = limit.rlim_cur;
    const auto kib = left ? NumberAfter(ReadText("/proc/self/status"), name) : std::nullopt;
    least = std::min(least, all - std::min(all, kib.value_or(0) << 10));
  }
  return least;
}

// MemTotal from a test's files, otherwise the system call, which also works without /proc.
uint64_t MachineBytes(const std::string& root) {
  if (root.empty()) return PhysicalBytes();
  const auto kib = NumberAfter(ReadText(root + "/proc/meminfo"), "MemTotal:");
  return kib ? *kib << 10 : kNoLimit;
}

uint64_t OrUnknown(uint64_t bytes) { return bytes == kNoLimit ? 0 : bytes; }

}  // namespace

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "this-machine";
  return name.data();
}

uint64_t SharedMemoryBytes(const std::string& root) {
  return OrUnknown(std::min(MachineBytes(root), GroupLimit(root)));
}

uint64_t HostMemoryBytes(const std::string& root) {
  return OrUnknown(
      std::min({MachineBytes(root), GroupLimit(root), ProcessLimit(root, /*left=*/false)}));
}

uint64_t AvailableMemoryBytes(const std::string& root) {
  const auto kib = NumberAfter(ReadText(root + "/proc/meminfo"), "MemAvailable:");
  const uint64_t machine = kib ? *kib << 10 : kNoLimit;
  const uint64_t bytes =
      std::min({machine, GroupAvailable(root), ProcessLimit(root, /*left=*/true)});
  return OrUnknown(std::max<uint64_t>(bytes, 1));
}

}  // namespace motley
