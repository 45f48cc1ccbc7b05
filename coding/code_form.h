// SPDX-License-Identifier: Apache-2.0
// CodeForm: the common representation of all gradient codes.
//
// There are n workers, k data partitions with partial gradients g_1..g_k in R^d, and the goal is
// g = sum_j g_j. Row i of the encoding matrix B defines the answer of worker i:
//   y_i = sum_j B[i,j] g_j.
// For a set F of answered rows the server needs a decoding vector a, zero off F, that satisfies
//   a B = (1, ..., 1);
// then sum_i a_i y_i = g. B tolerates s stragglers if such a vector exists for every F of n - s
// rows (Tandon, Lei, Dimakis, Karampatziakis, ICML 2017).
//
// C-form. Suppose that a matrix C (accumulators x n, usually with s + 1 rows) and a vector v
// satisfy
//   C B = v 1^T.
// Then a = x C decodes for any x that is orthogonal to the columns of C of the missing rows and has
// the product x v = 1. So the server keeps only the accumulators A_r = sum_i C[r,i] y_i while
// answers stream in, and the result is sum_r x_r A_r. stream_decoder.h has an example.
//
// Tiling form. Without C every coefficient is 1. The server takes answers with disjoint supports
// until they cover all partitions (no code, fractional repetition, leases).
//
// Several rows per worker. `lists` holds the rows that each worker computes, one after the other.
// Each row gives a vector of its own that counts as soon as it arrives. Rows then have disjoint
// supports. A copy is the same row on another list, and the first worker to compute the row answers
// it.
//
// Kept rows. With kept_parts = l > 0 every worker that computes a row keeps its sum. The answers
// have another form with l parts, which depends on the rows that each worker has computed
// (partial_rows.h).
//
// Parts. With m > 1 gradients are cut into m parts (part_sums.h), and an answer is as long as one
// part: y_i = sum_j sum_u B[i,j,u] g_j[part u]. C satisfies C B[.,j,u] = V[.,u] for every partition
// j. The result is part u = sum_r X[u,r] A_r, where X C = 0 on the missing rows and X V = I (Ye and
// Abbe, ICML 2018). The C-form above is the case m = 1.
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

// The most parts of a code; even shorter answers would gain nothing.
inline constexpr uint32_t kMaxParts = 32;

// The kind of numbers that coefficients multiply. Packed: coordinates (g[2t], g[2t+1]) form one
// complex number, so a complex code costs no extra traffic; vectors then have even length.
enum class Field { kReal, kComplexPacked };

struct CodeEntry {
  PartitionId partition = 0;
  Complex coefficient;  // Imaginary part 0 when the field is real.
};

struct CodeForm {
  std::string name;  // "none", "repetition", "cyclic", ...: see schemes.cc.
  Field field = Field::kReal;
  uint32_t workers = 0;     // n: rows of B, one per worker if there are no lists.
  uint32_t partitions = 0;  // k: columns of B, one per fine partition of the job.
  uint32_t stragglers = 0;  // s: any n - s rows decode (with lists: any n - s workers).
  std::vector<std::vector<CodeEntry>> rows;  // B, one sparse row per worker, sorted by partition.
  // The rows of each worker, in the order in which it computes them. Empty: row i is worker i's
  // only row.
  std::vector<std::vector<RowId>> lists;
  uint32_t kept_parts = 0;  // l, with lists; 0: rows are sent, not kept.

  uint32_t parts = 1;  // m; 1 for the tiling form.
  // B[i,j,u] for u >= 1, m - 1 values for each entry of `rows`, whose own coefficient is part 0's.
  // One vector per row; empty if m = 1.
  std::vector<std::vector<Complex>> other_parts;  // Per row; empty where m = 1.

  uint32_t accumulators = 0;  // Rows of C; 0 for the tiling form.
  std::vector<Complex> c;     // C, row-major, accumulators x workers.
  std::vector<Complex> v;     // V, row-major, accumulators x parts: C B = v 1^T.
  // Set if C[t,i] = z_i^t and v = e_0: the nodes z_i, distinct and not 0 (but 0 for an empty row).
  // Decoding vectors are then products. Empty for all other codes.
  std::vector<Complex> nodes;
  double largest = 0;  // max |B|; 0 if not computed.
  // A draft shows who computes what: supports, stragglers and parts are the code's, but all
  // coefficients are 1 and there is no C. Any n - s rows that are not empty count as enough.
  bool draft = false;

  bool tiling() const { return accumulators == 0; }
  uint32_t owners() const {  // Workers that have rows, or could have.
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

// The rows of each worker that are not empty, in its order.
std::vector<std::vector<RowId>> RowLists(const CodeForm& form);
// Flags the rows that are present once the flagged workers have answered all of theirs.
std::vector<bool> RowsOfWorkers(const CodeForm& form, const std::vector<bool>& workers);

// max |B|, stored or computed.
double LargestCoefficient(const CodeForm& form);

// Largest |a B - 1| over all partitions (and pairs of parts) for a decoding vector `a` of n entries
// (n x parts, row-major).
double DecodingResidual(const CodeForm& form, std::span<const Complex> a);

// Checks the form: sizes, sorted rows, the field, every partition in some row. With C, C B = V must
// hold for every partition within 1e-9 of the largest term; without C every coefficient must be 1.
// A row may be empty (a worker too slow for one partition); its answer is not needed. With lists,
// rows must be disjoint and without C, each on s + 1 lists (s + l if they are kept), and at most
// once on each. Returns kInvalidArgument otherwise.
Status Validate(const CodeForm& form);

}  // namespace motley
