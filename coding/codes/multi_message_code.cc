// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/multi_message_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "coding/placement/allocation.h"
#include "coding/placement/chunk_order.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

constexpr uint32_t kMostMessages = 48;     // For one worker, unless s requires more.
constexpr uint32_t kMostStragglers = 255;  // Each straggler costs every worker a message.

uint32_t ChunkCount(const CodeRequest& request, uint32_t copies, uint32_t most) {
  const auto workers = static_cast<double>(request.speeds.size());
  const double total = std::accumulate(request.speeds.begin(), request.speeds.end(), 0.0);
  const double fastest = *std::max_element(request.speeds.begin(), request.speeds.end());
  const uint32_t messages = request.messages > 0 ? request.messages : kMessagesPerWorker;
  const double wanted =
      std::min<double>(workers * std::min(messages, most), most * total / fastest);
  const double chunks = std::max(workers, std::round(wanted / copies));
  return static_cast<uint32_t>(std::min<double>(chunks, request.partitions));
}

}  // namespace

CodeForm ListChunks(const CodeRequest& request, uint32_t copies, uint32_t most) {
  const uint32_t chunks = ChunkCount(request, copies, most);
  const std::vector<uint32_t> loads =
      Allocate(request.speeds, uint64_t{chunks} * copies, std::min(chunks, std::max(most, copies)));
  WorkLists lists;
  uint64_t next = 0;
  for (const uint32_t load : loads) {
    // Lists run backwards: the chunk where a stretch begins is where another one ends, and it is
    // computed last here.
    auto& list = lists.emplace_back();
    list.reserve(load);
    for (uint64_t i = load; i-- > 0;) list.push_back(static_cast<RowId>((next + i) % chunks));
    next += load;
  }
  CodeForm form;
  form.workers = chunks;
  form.partitions = request.partitions;
  form.stragglers = request.stragglers;
  form.rows.resize(chunks);
  for (RowId row = 0; row < chunks; ++row) {
    AppendRun(GroupBegin(row, chunks, form.partitions),
              GroupBegin(row + 1, chunks, form.partitions), 1, form.rows[row]);
  }
  form.lists = LeastCoveredFirst(std::move(lists), request.speeds);
  Finish(form);
  return form;
}

Result<CodeForm> BuildMultiMessageCode(const CodeRequest& request) {
  if (request.stragglers > kMostStragglers) {
    return Status::InvalidArgument(fmt::format(
        "code \"multi-message\" tolerates at most {} stragglers, not {}; tolerate fewer",
        kMostStragglers, request.stragglers));
  }
  CodeForm form = ListChunks(request, request.stragglers + 1, kMostMessages);
  form.name = "multi-message";
  return form;
}

}  // namespace motley
