// SPDX-License-Identifier: Apache-2.0
#include "planner/row_code.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/decode/c_shape.h"
#include "coding/decode/decoder.h"

namespace motley {
namespace {

constexpr DecodeLimits kAnyPrecision{.tolerance = 1};

// For a code in which all rows except for any `stragglers` are necessary and enough.
void NeedAllBut(uint32_t stragglers, RowCode& code) {
  uint32_t busy = 0;
  for (const auto& row : code.rows) busy += row.empty() ? 0 : 1;
  code.least_rows = busy - std::min(busy, stragglers);
}

// Classes of rows that only decode together. Without redundancy, all rows that are not empty form
// one class.
void SetClasses(const CodeForm& form, RowCode& code) {
  const bool one = form.tiling();
  code.class_of.assign(form.workers, kNoClass);
  code.class_sizes.assign(one ? 1 : form.accumulators, 0);
  for (uint32_t r = 0; r < code.class_sizes.size(); ++r) {
    for (RowId row = 0; row < form.workers; ++row) {
      if (form.rows[row].empty() || (!one && form.C(r, row) == Complex(0))) continue;
      code.class_of[row] = r;
      ++code.class_sizes[r];
    }
  }
}

bool AllDisjoint(const CodeForm& form) {
  size_t entries = 0;
  for (const auto& row : form.rows) entries += row.size();
  return entries == form.partitions;
}

}  // namespace

RowCode RowCodeOf(std::shared_ptr<const CodeForm> form) {
  RowCode code;
  code.partitions = form->partitions;
  code.rows.resize(form->workers);
  for (RowId row = 0; row < form->workers; ++row) {
    code.rows[row].reserve(form->rows[row].size());
    for (const CodeEntry& entry : form->rows[row]) code.rows[row].push_back(entry.partition);
  }
  code.vector_fraction = 1.0 / form->parts;
  if (form->draft || !form->nodes.empty() || form->parts > 1) NeedAllBut(form->stragglers, code);
  if (form->draft) {
    code.decodes = [](const std::vector<bool>&) { return true; };
    return code;
  }
  if (form->tiling() ? AllDisjoint(*form) : ShapeOfC(*form) == CShape::kClasses) {
    SetClasses(*form, code);
    return code;
  }
  code.decodes = [form = std::move(form)](const std::vector<bool>& present) {
    return Solve(*form, present, kAnyPrecision).ok();
  };
  return code;
}

ArrivedRows::ArrivedRows(const RowCode& code)
    : code_(code), present_(code.rows.size(), false), left_(code.class_sizes) {
  if (!code.class_of.empty() || code.least_rows > 0) return;
  covered_.assign(code.partitions, false);
  uncovered_ = code.partitions;
}

void ArrivedRows::Add(RowId row) {
  MOTLEY_ASSERT(!present_[row]);
  present_[row] = true;
  ++count_;
  if (!code_.class_of.empty()) {
    const uint32_t its = code_.class_of[row];
    if (its != kNoClass && --left_[its] == 0) whole_ = true;
  }
  if (uncovered_ == 0) return;
  for (const PartitionId p : code_.rows[row]) {
    if (!covered_[p]) --uncovered_;
    covered_[p] = true;
  }
}

bool ArrivedRows::Enough() const {
  if (!code_.class_of.empty()) return whole_;
  return uncovered_ == 0 && count_ >= code_.least_rows && code_.decodes(present_);
}

}  // namespace motley
