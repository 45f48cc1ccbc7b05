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

// What a coefficient multiplies. Packed: coordinates (g[2t], g[2t+1]) are one complex number, so a
// complex code costs no extra traffic; vectors then have even length.
enum class Field { kReal, kComplexPacked };

struct CodeEntry {
  PartitionId partition = 0;
  Complex coefficient;  // Imaginary part 0 when the field is real.
};

struct CodeForm {
  std::string name;  // "none", "repetition", "cyclic", "heterogeneous", "rs".
  Field field = Field::kReal;
  uint32_t workers = 0;                      // n: rows of B, one per worker if there are no lists.
  uint32_t partitions = 0;                   // k: columns of B, the job's fine partitions.
  uint32_t stragglers = 0;                   // s: any n - s rows decode (lists: n - s workers).
  std::vector<std::vector<CodeEntry>> rows;  // B, one sparse row per worker, sorted by partition.
  // By worker, its rows in the order in which it computes them; empty: row i is worker i's only
  // one.
  std::vector<std::vector<RowId>> lists;

  uint32_t accumulators = 0;  // Rows of C; 0 for the tiling form.
  std::vector<Complex> c;     // C, row-major, accumulators x workers.
  std::vector<Complex> v;     // C B = v 1^T.
  // Where C[t,i] = z_i^t with distinct z_i != 0, and v = e_0: the nodes z_i (0 for an empty row).
  // Decoding vectors then are products; empty for every other code.
  std::vector<Complex> nodes;
  double largest = 0;  // max |B|; 0 when nobody worked it out.

  bool tiling() const { return accumulators == 0; }
  uint32_t owners() const {  // Workers that have rows, or could.
    return lists.empty() ? workers : static_cast<uint32_t>(lists.size());
  }
  Complex C(uint32_t accumulator, RowId row) const { return c[accumulator * workers + row]; }
};

// By worker, its rows that hold something, in its order.
std::vector<std::vector<RowId>> RowLists(const CodeForm& form);
// Which rows are there once these workers (one flag each) have answered all of theirs.
std::vector<bool> RowsOfWorkers(const CodeForm& form, const std::vector<bool>& workers);

// max |B|: the stored one, or worked out.
double LargestCoefficient(const CodeForm& form);

// Largest |a B - 1| over all partitions for a decoding vector `a` of n entries.
double DecodingResidual(const CodeForm& form, std::span<const Complex> a);

// Fine when the form is what it claims: sizes, sorted rows, every partition on a row, field, and
// C B = v 1^T within 1e-9 of the largest term; or every coefficient 1 without C. A row may be empty
// (a worker too slow for one partition): nobody needs its answer. Lists: disjoint rows without C,
// each on s + 1 of them, none twice on one. Otherwise kInvalidArgument.
Status Validate(const CodeForm& form);

}  // namespace motley
