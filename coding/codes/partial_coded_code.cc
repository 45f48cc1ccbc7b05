// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/partial_coded_code.h"

#include <algorithm>

#include "coding/codes/multi_message_code.h"
#include "coding/codes/partial_rows.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

// True if for every chunk all its holders together solve for it.
bool HoldersSolve(const CodeForm& form, const PartialCode& code) {
  std::vector<std::vector<WorkerId>> holders(form.workers);
  for (WorkerId worker = 0; worker < form.lists.size(); ++worker) {
    for (const RowId row : form.lists[worker]) holders[row].push_back(worker);
  }
  return std::all_of(holders.begin(), holders.end(),
                     [&](const auto& those) { return SolvesChunk(code, those, kAnswerLimits); });
}

}  // namespace

Result<CodeForm> BuildPartialCodedCode(const CodeRequest& request) {
  MOTLEY_RETURN_IF_ERROR(CheckParts(request));
  const auto workers = static_cast<uint32_t>(request.speeds.size());
  CodeForm form;
  for (uint32_t parts = request.parts; parts > 0; --parts) {
    form = ListChunks(request, request.stragglers + parts, kMostKept);
    form.name = "partial-coded";
    form.kept_parts = parts;
    MOTLEY_ASSIGN_OR_RETURN(const PartialCode code, MakePartialCode(workers, parts));
    if (HoldersSolve(form, code)) break;  // True for a single part at the latest.
  }
  return form;
}

}  // namespace motley
