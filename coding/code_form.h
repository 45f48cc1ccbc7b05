// SPDX-License-Identifier: Apache-2.0
// CodeForm: the one representation of every gradient code.
//
// n workers, k data partitions, partial gradients g_1..g_k in R^d, wanted g = sum_j g_j.
// Row i of the encoding matrix B says what worker i sends: y_i = sum_j B[i,j] g_j. For a set F of
// answered rows the server wants a decoding vector a, zero off F, with a B = (1, ..., 1); then
// sum_i a_i y_i = g. B tolerates s stragglers if such an a exists for every F of n - s rows
// (Tandon, Lei, Dimakis, Karampatziakis, ICML 2017).
//
// C-form. Where a matrix C (accumulators x n, usually s + 1 of them) and a vector v exist with
// C B = v 1^T, decoding is a = x C with x C = 0 on the missing rows and x v = 1. So the server
// keeps only the accumulators A_r = sum_i C[r,i] y_i while answers stream in, and ends with sum_r
// x_r A_r.
//
// Tiling form. Without C, every coefficient is 1: the server takes answers whose supports are
// disjoint until they cover all partitions (no code, fractional repetition, leases).
//
// Several rows per worker. `lists` says which rows each worker computes, one after the other, each
// with a vector of its own that counts as soon as it is there. Rows then have disjoint supports,
// and copies are one row on several lists: whoever has it first answers it.
//
// Kept rows. With kept_parts = l > 0 workers keep the sums of their rows, copies too. What they
// answer is another form, with l parts, that follows from who has done what (partial_rows.h).
//
// Parts. With m > 1 gradients are cut into m parts (part_sums.h), an answer is as long as one of
// them, y_i = sum_j sum_u B[i,j,u] g_j[part u], and C B[.,j,u] = V[.,u] for every partition j. The
// server ends with part u = sum_r X[u,r] A_r, where X C = 0 on the missing rows and X V = I (Ye and
// Abbe, ICML 2018). What is said above is the case m = 1.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"

namespace motley {

using Complex = std::complex<double>;

// Of a code; more would be shorter than they are worth.
inline constexpr uint32_t kMaxParts = 32;

// What a coefficient multiplies. Packed: coordinates (g[2t], g[2t+1]) are one complex number, so a
// complex code costs no extra traffic; vectors then have even length.
enum class Field { kReal, kComplexPacked };

struct CodeEntry {
  PartitionId partition = 0;
  Complex coefficient;  // Imaginary part 0 when the field is real.
};

struct CodeForm {
  std::string name;  // "none", "repetition", "cyclic", ...: see schemes.cc.
  Field field = Field::kReal;
  uint32_t workers = 0;                      // n: rows of B, one per worker if there are no lists.
  uint32_t partitions = 0;                   // k: columns of B, the job's fine partitions.
  uint32_t stragglers = 0;                   // s: any n - s rows decode (lists: n - s workers).
  std::vector<std::vector<CodeEntry>> rows;  // B, one sparse row per worker, sorted by partition.
  // By worker, its rows in the order in which it computes them; empty: row i is worker i's only
  // one.
  std::vector<std::vector<RowId>> lists;
  uint32_t kept_parts = 0;  // l, with lists; 0: rows are answered.

  uint32_t parts = 1;  // m; 1 for the tiling form.
  // B[i,j,u] for u >= 1, entry by entry m - 1 of them; an entry's own coefficient is that of part
  // 0.
  std::vector<std::vector<Complex>> other_parts;  // Per row; empty where m = 1.

  uint32_t accumulators = 0;  // Rows of C; 0 for the tiling form.
  std::vector<Complex> c;     // C, row-major, accumulators x workers.
  std::vector<Complex> v;     // V, row-major, accumulators x parts: C B = v 1^T.
  // Where C[t,i] = z_i^t with distinct z_i != 0, and v = e_0: the nodes z_i (0 for an empty row).
  // Decoding vectors then are products; empty for every other code.
  std::vector<Complex> nodes;
  double largest = 0;  // max |B|; 0 when nobody worked it out.
  // For who only wants to know who computes what: supports, stragglers and parts are the code's,
  // coefficients are all 1, and there is no C. Any n - s rows that are not empty stand for enough.
  bool draft = false;

  bool tiling() const { return accumulators == 0; }
  uint32_t owners() const {  // Workers that have rows, or could.
    return lists.empty() ? workers : static_cast<uint32_t>(lists.size());
  }
  Complex C(uint32_t accumulator, RowId row) const { return c[accumulator * workers + row]; }
  Complex V(uint32_t accumulator, uint32_t part) const { return v[accumulator * parts + part]; }
  // B[row, partition of the row's entry, part].
  Complex B(RowId row, size_t entry, uint32_t part) const {
    return part == 0 ? rows[row][entry].coefficient
                     : other_parts[row][entry * (parts - 1) + part - 1];
  }
};

// By worker, its rows that hold something, in its order.
std::vector<std::vector<RowId>> RowLists(const CodeForm& form);
// Which rows are there once these workers (one flag each) have answered all of theirs.
std::vector<bool> RowsOfWorkers(const CodeForm& form, const std::vector<bool>& workers);

// max |B|: the stored one, or worked out.
double LargestCoefficient(const CodeForm& form);

// Largest |a B - 1| over all partitions (and pairs of parts) for a decoding vector `a` of n entries
// (n x parts, row-major).
double DecodingResidual(const CodeForm& form, std::span<const Complex> a);

// Fine when the form is what it claims: sizes, sorted rows, every partition on a row, field, and
// C B = V for every partition within 1e-9 of the largest term; or every coefficient 1 without C. A
// row may be empty (a worker too slow for one partition): nobody needs its answer. Lists: disjoint
// rows without C, each on s + 1 of them (s + l, if they are kept), none twice on one. Otherwise
// kInvalidArgument.
Status Validate(const CodeForm& form);

}  // namespace motley
