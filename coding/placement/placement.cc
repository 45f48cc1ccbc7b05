// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/placement.h"

#include <fmt/format.h>

namespace motley {

CodeForm EmptyForm(const char* name, const CodeRequest& request) {
  CodeForm form;
  form.name = name;
  form.workers = static_cast<uint32_t>(request.speeds.size());
  form.partitions = request.partitions;
  form.stragglers = request.stragglers;
  form.rows.resize(form.workers);
  return form;
}

Status CheckParts(const CodeRequest& request) {
  const size_t workers = request.speeds.size();
  if (request.parts >= 1 && request.parts <= kMaxParts &&
      uint64_t{request.stragglers} + request.parts <= workers) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format(
      "answers of 1/{} of a gradient (1/1 to 1/{} are possible) with {} stragglers need {} "
      "copies of the data, but there are {} workers; cut gradients into fewer parts, tolerate "
      "fewer stragglers, or add workers",
      request.parts, kMaxParts, request.stragglers, uint64_t{request.stragglers} + request.parts,
      workers));
}

PartitionId GroupBegin(uint32_t group, uint32_t groups, uint32_t partitions) {
  return static_cast<PartitionId>(uint64_t{group} * partitions / groups);
}

void AppendRun(PartitionId begin, PartitionId end, Complex coefficient,
               std::vector<CodeEntry>& row) {
  size_t next = row.size();
  row.resize(next + (end - begin));  // Resized once: most rows are one run.
  for (PartitionId partition = begin; partition < end; ++partition) {
    row[next++] = {partition, coefficient};
  }
}

void Tile(std::span<const WorkerId> workers, std::span<const uint32_t> lengths, CodeForm& form) {
  PartitionId begin = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    AppendRun(begin, begin + lengths[i], 1, form.rows[workers[i]]);
    begin += lengths[i];
  }
  MOTLEY_ASSERT(begin == form.partitions);
}

void SetClasses(const std::vector<std::vector<WorkerId>>& classes, CodeForm& form) {
  form.accumulators = static_cast<uint32_t>(classes.size());
  form.c.assign(size_t{form.accumulators} * form.workers, 0);
  form.v.assign(form.accumulators, 1);
  for (size_t r = 0; r < classes.size(); ++r) {
    for (WorkerId worker : classes[r]) {
      if (!form.rows[worker].empty()) form.c[r * form.workers + worker] = 1;
    }
  }
}

void Finish(CodeForm& form) {
  form.largest = 0;
  form.largest = LargestCoefficient(form);
}

}  // namespace motley
