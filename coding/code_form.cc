// SPDX-License-Identifier: Apache-2.0
#include "coding/code_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace motley {
namespace {

bool Finite(Complex value) { return std::isfinite(value.real()) && std::isfinite(value.imag()); }

Status CheckParts(const CodeForm& form) {
  if (form.parts < 1 || form.parts > kMaxParts ||
      (form.parts > 1 && (form.tiling() || !form.nodes.empty()))) {
    return Status::InvalidArgument(fmt::format(
        "answers of {} parts are not possible; 1 to {} are, and more than one only with a C "
        "that is not given by nodes",
        form.parts, kMaxParts));
  }
  if (form.parts == 1 && form.other_parts.empty()) return Status::Ok();
  bool whole = form.other_parts.size() == form.workers;
  for (RowId row = 0; whole && row < form.workers; ++row) {
    const auto& others = form.other_parts[row];
    whole = others.size() == form.rows[row].size() * (form.parts - 1) &&
            std::all_of(others.begin(), others.end(), Finite);
  }
  if (whole) return Status::Ok();
  return Status::InvalidArgument("the code has missing or infinite coefficients for some parts");
}

Status CheckSizes(const CodeForm& form) {
  if (form.draft) return Status::InvalidArgument("a draft of a code has no coefficients");
  const size_t c_size = size_t{form.accumulators} * form.workers;
  if (form.workers == 0 || form.partitions == 0) {
    return Status::InvalidArgument("the code has no workers or no partitions");
  }
  if (form.stragglers >= form.owners()) {
    return Status::InvalidArgument(fmt::format(
        "the code cannot tolerate {} stragglers among {} workers", form.stragglers, form.owners()));
  }
  if (form.rows.size() != form.workers || form.c.size() != c_size ||
      form.v.size() != size_t{form.accumulators} * form.parts) {
    return Status::InvalidArgument("the code's rows, C or v do not have the stated sizes");
  }
  MOTLEY_RETURN_IF_ERROR(CheckParts(form));
  if (!form.nodes.empty() && form.nodes.size() != form.workers) {
    return Status::InvalidArgument("the code does not have one node per worker");
  }
  return Status::Ok();
}

Status CheckEntry(const CodeForm& form, const CodeEntry& entry) {
  if (entry.partition >= form.partitions) {
    return Status::InvalidArgument(
        fmt::format("partition {} of {} does not exist", entry.partition, form.partitions));
  }
  if (!Finite(entry.coefficient)) return Status::InvalidArgument("a coefficient is not finite");
  if (form.field == Field::kReal && entry.coefficient.imag() != 0) {
    return Status::InvalidArgument("a real code has a complex coefficient");
  }
  if (form.tiling() && entry.coefficient != Complex(1)) {
    return Status::InvalidArgument("a code without C has a coefficient other than 1");
  }
  return Status::Ok();
}

Status CheckRows(const CodeForm& form) {
  std::vector<bool> held(form.partitions, false);
  for (RowId row = 0; row < form.workers; ++row) {
    const auto& entries = form.rows[row];
    for (size_t e = 0; e < entries.size(); ++e) {
      Status status = CheckEntry(form, entries[e]);
      if (!status.ok()) return status.WithContext(fmt::format("row {}", row));
      if (e > 0 && entries[e - 1].partition >= entries[e].partition) {
        return Status::InvalidArgument(fmt::format("row {} is not sorted by partition", row));
      }
      held[entries[e].partition] = true;
    }
  }
  const auto missing = std::find(held.begin(), held.end(), false);
  if (missing == held.end()) return Status::Ok();
  return Status::InvalidArgument(fmt::format("no row holds partition {}", missing - held.begin()));
}

// Checks C B = V, one accumulator and part at a time.
Status CheckC(const CodeForm& form) {
  std::vector<Complex> sums(form.partitions);
  for (uint32_t r = 0; r < form.accumulators; ++r) {
    double of_row = 0;
    for (uint32_t part = 0; part < form.parts; ++part) {
      of_row = std::max(of_row, std::abs(form.V(r, part)));
    }
    for (uint32_t part = 0; part < form.parts; ++part) {
      std::fill(sums.begin(), sums.end(), Complex(0));
      const Complex wanted = form.V(r, part);
      double largest = of_row;
      for (RowId row = 0; row < form.workers; ++row) {
        const Complex c = form.C(r, row);
        if (c == Complex(0)) continue;
        for (size_t e = 0; e < form.rows[row].size(); ++e) {
          const Complex term = c * form.B(row, e, part);
          largest = std::max(largest, std::abs(term));
          sums[form.rows[row][e].partition] += term;
        }
      }
      for (const Complex& sum : sums) {
        if (!(std::abs(sum - wanted) <= 1e-9 * largest)) {
          return Status::InvalidArgument(
              fmt::format("C B = v 1^T does not hold in row {} of C", r));
        }
      }
    }
  }
  return Status::Ok();
}

// Checks C[t,i] = z_i^t and v = e_0 for a code with nodes.
Status CheckNodes(const CodeForm& form) {
  for (RowId row = 0; row < form.nodes.size(); ++row) {
    if (form.rows[row].empty()) continue;
    Complex power = 1;
    for (uint32_t t = 0; t < form.accumulators; ++t) {
      const bool right = std::abs(form.C(t, row) - power) <= 1e-9 * std::abs(power) &&
                         form.v[t] == Complex(t == 0 ? 1 : 0) && power != Complex(0);
      if (!right) {
        return Status::InvalidArgument(
            fmt::format("C does not consist of the powers of node {}", row));
      }
      power *= form.nodes[row];
    }
  }
  return Status::Ok();
}

// Checks that each row is on s + 1 lists (s + l if kept), and each partition in one row.
Status CheckLists(const CodeForm& form) {
  if (form.lists.empty() && form.kept_parts == 0) return Status::Ok();
  if (form.lists.empty() || form.kept_parts > kMaxParts) {
    return Status::InvalidArgument(fmt::format(
        "rows cannot be kept for answers in {} parts; that needs lists, and at most {} parts",
        form.kept_parts, kMaxParts));
  }
  const uint32_t wanted = form.stragglers + std::max(form.kept_parts, 1U);
  std::vector<uint32_t> copies(form.workers, 0);
  for (std::vector<RowId> list : form.lists) {
    std::sort(list.begin(), list.end());
    const bool twice = std::adjacent_find(list.begin(), list.end()) != list.end();
    if (twice || (!list.empty() && list.back() >= form.workers)) {
      return Status::InvalidArgument(
          "a worker's list names a row twice, or one that does not exist");
    }
    for (const RowId row : list) ++copies[row];
  }
  size_t entries = 0;
  for (RowId row = 0; row < form.workers; ++row) {
    entries += form.rows[row].size();
    if (copies[row] == wanted) continue;
    return Status::InvalidArgument(
        fmt::format("row {} is on {} lists instead of {}", row, copies[row], wanted));
  }
  if (form.tiling() && entries == form.partitions) return Status::Ok();
  return Status::InvalidArgument("rows on lists overlap or are coded");
}

}  // namespace

std::vector<std::vector<RowId>> RowLists(const CodeForm& form) {
  std::vector<std::vector<RowId>> lists = form.lists;
  if (lists.empty()) {
    lists.resize(form.workers);
    for (RowId row = 0; row < form.workers; ++row) {
      if (!form.rows[row].empty()) lists[row].push_back(row);
    }
    return lists;
  }
  for (auto& list : lists) {
    std::erase_if(list, [&](RowId row) { return form.rows[row].empty(); });
  }
  return lists;
}

std::vector<bool> RowsOfWorkers(const CodeForm& form, const std::vector<bool>& workers) {
  if (form.lists.empty()) return workers;
  std::vector<bool> rows(form.workers, false);
  for (WorkerId worker = 0; worker < workers.size(); ++worker) {
    if (!workers[worker]) continue;
    for (const RowId row : form.lists[worker]) rows[row] = true;
  }
  return rows;
}

double LargestCoefficient(const CodeForm& form) {
  if (form.largest > 0) return form.largest;
  double largest = 0;
  const Complex* last = nullptr;  // Most entries have the coefficient of the one before.
  for (const auto& row : form.rows) {
    for (const CodeEntry& entry : row) {
      if (last != nullptr && entry.coefficient == *last) continue;
      last = &entry.coefficient;
      largest = std::max(largest, std::abs(entry.coefficient));
    }
  }
  for (const auto& row : form.other_parts) {
    for (const Complex& coefficient : row) largest = std::max(largest, std::abs(coefficient));
  }
  return largest;
}

double DecodingResidual(const CodeForm& form, std::span<const Complex> a) {
  const size_t m = form.parts;
  MOTLEY_ASSERT(a.size() == form.workers * m);
  std::vector<Complex> sums(form.partitions);
  double residual = 0;
  for (uint32_t decoded = 0; decoded < m; ++decoded) {
    for (uint32_t part = 0; part < m; ++part) {
      std::fill(sums.begin(), sums.end(), Complex(part == decoded ? -1 : 0));
      for (RowId row = 0; row < form.workers; ++row) {
        const Complex weight = a[row * m + decoded];
        if (weight == Complex(0)) continue;
        for (size_t e = 0; e < form.rows[row].size(); ++e) {
          sums[form.rows[row][e].partition] += weight * form.B(row, e, part);
        }
      }
      for (const Complex& sum : sums) {
        const double size = std::abs(sum);
        if (std::isnan(size)) return size;
        residual = std::max(residual, size);
      }
    }
  }
  return residual;
}

Status Validate(const CodeForm& form) {
  MOTLEY_RETURN_IF_ERROR(CheckSizes(form));
  MOTLEY_RETURN_IF_ERROR(CheckRows(form));
  MOTLEY_RETURN_IF_ERROR(CheckLists(form));
  MOTLEY_RETURN_IF_ERROR(CheckNodes(form));
  return CheckC(form);
}

}  // namespace motley
