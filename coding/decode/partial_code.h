// SPDX-License-Identifier: Apache-2.0
// Gradient coding that counts what partial stragglers have done (Ramamoorthy, Meng, Girimaji,
// NeurIPS 2024, arXiv 2405.19509). Pure; any thread.
//
// A fixed public matrix R, one row of `parts` = l entries per worker. Workers keep the gradients of
// chunks that they finished and report which (a bitmap). For chunk i with finished holders D_i the
// server solves R_{D_i}^T x^{(i,u)} = e_u for every part u, and sends worker j its coefficients; it
// answers one message, 1/l as long as a gradient,
//   z_j = sum_{i finished by j} sum_u x^{(i,u)}_j g_i[part u],
// and part u of the sum is sum_j R[j,u] z_j. That is exact where every |D_i| >= l; otherwise least
// squares leave a squared error of max(0, l - |D_i|) for chunk i, in units of a part's mean square.
// Holders whose rows are so nearly dependent that rounding would grow beyond the limits count as
// fewer: the directions that hardly any of them has are left out, each at a squared error of 1.
//
// The paper draws R at random; here rows are points of the trigonometric curve (1, cos t, sin t,
// ...), or (cos t/2, sin t/2, ...) for even l, of which any l are independent, though hardly so
// where they are neighbours on the curve. Workers stand evenly round t, the next one about a golden
// section on, so that neighbours in number (mod N) are far apart. l = 1 has R = 1: no code at all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "coding/code_form.h"
#include "coding/decode/decoder.h"
#include "coding/placement/chunk_order.h"

namespace motley {

struct PartialCode {
  uint32_t workers = 0;   // N
  uint32_t parts = 0;     // l
  std::vector<double> r;  // R, row-major, workers x parts; rows of length 1.

  double R(WorkerId worker, uint32_t part) const { return r[worker * parts + part]; }
};

// kInvalidArgument unless 1 <= parts <= workers.
Result<PartialCode> MakePartialCode(uint32_t workers, uint32_t parts);

// What one worker does with one chunk that it finished.
struct PartialEntry {
  PartitionId chunk = 0;
  std::vector<Complex> weights;  // One per part (imaginary parts 0).
};

struct PartialPlan {
  std::vector<std::vector<PartialEntry>> entries;  // Per worker, in the order of its finished list.
  double squared_error = 0;  // sum_i ||R_{D_i}^T X_i - I||_F^2; 0 (to rounding) when exact.
  double amplification = 0;  // max |x|: how much the rounding of one chunk can grow.
};

// finished[w]: what worker w has finished of `chunks` chunks, none twice. Coefficients are those of
// least norm, so that all finished copies share the work and rounding is least; amplification times
// float epsilon stays within limits.tolerance, at the price of squared_error where it must.
// kInvalidArgument when the lists are not one per worker, name a chunk twice or one that is not
// there.
Result<PartialPlan> PlanPartial(const PartialCode& code, uint32_t chunks, const WorkLists& finished,
                                const DecodeLimits& limits = {});

// What the holders of one chunk leave of its squared error in such a plan: 0 (to rounding), or
// about one or more where they are too few or too nearly dependent. `holders`: different workers.
double ChunkError(const PartialCode& code, std::span<const WorkerId> holders,
                  const DecodeLimits& limits = {});
// ChunkError is 0 (to rounding).
bool SolvesChunk(const PartialCode& code, std::span<const WorkerId> holders,
                 const DecodeLimits& limits = {});

// message += what `entry` says about its chunk's gradient; of PartLength(kReal, gradient, parts)
// floats, zeros at first.
void EncodePartial(const PartialEntry& entry, std::span<const float> gradient,
                   std::span<float> message, ParallelFor& parallel);
// The sum from one message per worker; empty where the worker had finished nothing.
void DecodePartial(const PartialCode& code, std::span<const std::span<const float>> messages,
                   std::span<float> sum, ParallelFor& parallel);

}  // namespace motley
