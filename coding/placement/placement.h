// SPDX-License-Identifier: Apache-2.0
// Small functions with which codes fill a CodeForm.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "coding/code_form.h"
#include "coding/gradient_code.h"

namespace motley {

// A form with the request's sizes, empty rows and no C.
CodeForm EmptyForm(const char* name, const CodeRequest& request);

// For codes with answers of 1/m of a gradient: kInvalidArgument, with what to change, unless
// 1 <= m <= kMaxParts and there are s + m workers.
Status CheckParts(const CodeRequest& request);

// The first partition of a group when k partitions are cut into `groups` runs of nearly equal
// length. Group j is [GroupBegin(j), GroupBegin(j + 1)).
PartitionId GroupBegin(uint32_t group, uint32_t groups, uint32_t partitions);

// Gives partitions [begin, end) to a row with one coefficient. Runs must come in ascending order.
void AppendRun(PartitionId begin, PartitionId end, Complex coefficient,
               std::vector<CodeEntry>& row);

// Gives `workers` consecutive runs of the given lengths, which tile all partitions.
void Tile(std::span<const WorkerId> workers, std::span<const uint32_t> lengths, CodeForm& form);

// Sets C for classes that each tile all partitions: C[r,i] = 1 if worker i has a share of class r,
// and v = (1, ..., 1). A single class is a code without redundancy.
void SetClasses(const std::vector<std::vector<WorkerId>>& classes, CodeForm& form);

// Computes the form's cached value, max |B|.
void Finish(CodeForm& form);

}  // namespace motley
