// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step/row_code.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/c_shape.h"
#include "coding/decoder.h"

namespace motley {
namespace {

constexpr DecodeLimits kAnyPrecision{.tolerance = 1};

// Of a code all of whose rows but any so many are needed, and are enough.
void NeedAllBut(uint32_t stragglers, RowCode& code) {
  uint32_t busy = 0;
  for (const auto& row : code.rows) busy += row.empty() ? 0 : 1;
  code.least_rows = busy - std::min(busy, stragglers);
}

// What the decoder says of classes, without looking for them each time: one of them is whole.
std::function<bool(const std::vector<bool>&)> AnyClassWhole(const CodeForm& form) {
  std::vector<std::vector<RowId>> classes(form.accumulators);
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    for (RowId row = 0; row < form.workers; ++row) {
      if (form.C(r, row) != Complex(0) && !form.rows[row].empty()) classes[r].push_back(row);
    }
  }
  return [classes = std::move(classes)](const std::vector<bool>& present) {
    return std::any_of(classes.begin(), classes.end(), [&](const std::vector<RowId>& rows) {
      return std::all_of(rows.begin(), rows.end(), [&](RowId row) { return present[row]; });
    });
  };
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
  if (!form->nodes.empty() || form->parts > 1) NeedAllBut(form->stragglers, code);
  if (!form->tiling() && ShapeOfC(*form) == CShape::kClasses) {
    code.decodes = AnyClassWhole(*form);
    return code;
  }
  code.decodes = [form = std::move(form)](const std::vector<bool>& present) {
    return Solve(*form, present, kAnyPrecision).ok();
  };
  return code;
}

bool Decodes(const RowCode& code, const std::vector<bool>& present) {
  ArrivedRows rows(code);
  for (RowId row = 0; row < present.size(); ++row) {
    if (present[row]) rows.Add(row);
  }
  return rows.Enough();
}

std::vector<std::vector<WorkerId>> HoldersOf(const RowCode& code) {
  std::vector<uint32_t> copies(code.partitions, 0);
  for (const auto& row : code.rows) {
    for (const PartitionId p : row) ++copies[p];
  }
  std::vector<std::vector<WorkerId>> holders(code.partitions);
  for (PartitionId p = 0; p < code.partitions; ++p) holders[p].reserve(copies[p]);
  for (WorkerId w = 0; w < code.rows.size(); ++w) {
    for (const PartitionId p : code.rows[w]) holders[p].push_back(w);
  }
  return holders;
}

ArrivedRows::ArrivedRows(const RowCode& code)
    : code_(code),
      present_(code.rows.size(), false),
      covered_(code.partitions, false),
      uncovered_(code.partitions) {}

void ArrivedRows::Add(RowId row) {
  MOTLEY_ASSERT(!present_[row]);
  present_[row] = true;
  ++count_;
  for (const PartitionId p : code_.rows[row]) {
    if (!covered_[p]) --uncovered_;
    covered_[p] = true;
  }
}

bool ArrivedRows::Enough() const {
  return uncovered_ == 0 && count_ >= code_.least_rows && code_.decodes(present_);
}

}  // namespace motley
