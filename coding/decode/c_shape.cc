// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/c_shape.h"

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

// Gives accumulators with a common row the same root.
std::vector<uint32_t> JoinedAccumulators(const CodeForm& form) {
  std::vector<uint32_t> root(form.accumulators);
  std::iota(root.begin(), root.end(), 0);
  for (RowId row = 0; row < form.workers; ++row) {
    uint32_t joined = form.accumulators;
    for (uint32_t r = 0; r < form.accumulators; ++r) {
      if (form.C(r, row) == Complex(0)) continue;
      if (joined == form.accumulators) joined = root[r];
      if (joined == root[r]) continue;
      std::replace(root.begin(), root.end(), uint32_t{root[r]}, joined);
    }
  }
  return root;
}

}  // namespace

CShape ShapeOfC(const CodeForm& form) {
  if (!form.nodes.empty()) return CShape::kNodes;
  if (form.parts > 1) return CShape::kDense;
  for (const Complex& v : form.v) {
    if (v != Complex(1)) return CShape::kDense;
  }
  for (RowId row = 0; row < form.workers; ++row) {
    uint32_t ones = 0;
    for (uint32_t r = 0; r < form.accumulators; ++r) {
      const Complex c = form.C(r, row);
      if (c != Complex(0) && c != Complex(1)) return CShape::kDense;
      ones += c == Complex(1);
    }
    if (ones > 1) return CShape::kDense;
  }
  return CShape::kClasses;
}

std::vector<CBlock> BlocksOfC(const CodeForm& form) {
  const std::vector<uint32_t> root = JoinedAccumulators(form);
  std::vector<CBlock> blocks;
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    if (std::find(root.begin(), root.end(), r) == root.end()) continue;
    bool decodes = false;
    CBlock block;
    for (uint32_t t = 0; t < form.accumulators; ++t) {
      const Complex* v = form.v.data() + size_t{t} * form.parts;
      decodes |= root[t] == r &&
                 std::any_of(v, v + form.parts, [](Complex each) { return each != Complex(0); });
    }
    for (RowId row = 0; row < form.workers; ++row) {
      const auto in_block = [&](uint32_t t) {
        return root[t] == r && form.C(t, row) != Complex(0);
      };
      bool member = false;
      for (uint32_t t = 0; t < form.accumulators && !member; ++t) member = in_block(t);
      if (member && !form.rows[row].empty()) block.rows.push_back(row);
    }
    const auto size = static_cast<size_t>(std::count(root.begin(), root.end(), r));
    block.bears = std::min<size_t>(size - 1, form.stragglers);
    if (decodes) blocks.push_back(std::move(block));
  }
  return blocks;
}

bool SomeBlockDecodes(const std::vector<CBlock>& blocks, const std::vector<bool>& present) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const CBlock& block) {
    size_t missing = 0;
    for (RowId row : block.rows) missing += present[row] ? 0 : 1;
    return missing <= block.bears;
  });
}

}  // namespace motley
