// SPDX-License-Identifier: Apache-2.0
// Small steps that every code shares when it fills a CodeForm.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "coding/code_form.h"
#include "coding/gradient_code.h"

namespace motley {

// Sizes from the request, empty rows, no C.
CodeForm EmptyForm(const char* name, const CodeRequest& request);

// Of codes whose answers are 1/m of a gradient: kInvalidArgument, with what to change, unless
// 1 <= m <= kMaxParts and there are s + m workers.
Status CheckParts(const CodeRequest& request);

// First partition of a group when k partitions are cut into `groups` runs of nearly equal length:
// group j is [GroupBegin(j), GroupBegin(j + 1)).
PartitionId GroupBegin(uint32_t group, uint32_t groups, uint32_t partitions);

// Gives partitions [begin, end) to a row with one coefficient. Runs come in ascending order.
void AppendRun(PartitionId begin, PartitionId end, Complex coefficient,
               std::vector<CodeEntry>& row);

// Gives `workers` consecutive runs that tile all partitions, of the given lengths.
void Tile(std::span<const WorkerId> workers, std::span<const uint32_t> lengths, CodeForm& form);

// C for classes of which each tiles all partitions: C[r,i] = 1 when worker i has a share of class
// r, v = (1, ..., 1). A single class is a code without redundancy.
void SetClasses(const std::vector<std::vector<WorkerId>>& classes, CodeForm& form);

// Works out what the form only caches (max |B|).
void Finish(CodeForm& form);

}  // namespace motley
