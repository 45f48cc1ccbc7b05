// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace motley {
namespace {

constexpr std::string_view kWorker = "worker";
constexpr std::string_view kShardServer = "shard server ";

bool Digit(char c) { return c >= '0' && c <= '9'; }

// The number of digits at the beginning of `text`.
size_t Digits(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), Digit) - text.begin());
}

}  // namespace

bool WorthSaying(std::string_view name) {
  if (!name.starts_with(kWorker)) return !name.empty();
  name.remove_prefix(kWorker.size());
  if (name.starts_with('-')) name.remove_prefix(1 + Digits(name.substr(1)));
  return !name.empty();
}

std::string NumberedName(std::string_view name, WorkerId worker) {
  const bool made_up = name.empty() || name == kWorker || name.starts_with("worker ");
  if (!made_up) return std::string(name);
  name.remove_prefix(std::min(name.size(), kWorker.size()));
  return fmt::format("{}-{}{}", kWorker, worker, name);
}

std::string ShardServerName(uint32_t server, std::string_view name) {
  const std::string number = fmt::format("{}{}", kShardServer, server);
  return WorthSaying(name) ? fmt::format("{} ({})", number, name) : number;
}

bool NamesShardServer(std::string_view name) { return name.starts_with(kShardServer); }

std::string DescribeNode(WorkerId node, uint32_t workers) {
  return node < workers ? DescribeWorker(node, "") : ShardServerName(node - workers, "");
}

std::string DescribeWorker(WorkerId worker, std::string_view name) {
  if (NamesShardServer(name)) return std::string(name);
  return WorthSaying(name) ? fmt::format("worker {} ({})", worker, name)
                           : fmt::format("worker {}", worker);
}

}  // namespace motley
