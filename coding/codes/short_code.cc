// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/short_code.h"

#include <Eigen/Dense>
#include <utility>

#include "coding/placement/allocation.h"
#include "coding/placement/cyclic_walk.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

using Matrix = Eigen::MatrixXcd;

// t_u: the lower half of the parts has the powers from 0 up, the others those up to d - 1.
uint32_t PowerOfPart(const CodeForm& form, uint32_t part) {
  return part < (form.parts + 1) / 2 ? part : form.stragglers + part;
}

// Sets C and V, and the nodes if they define the code.
void SetPowers(const std::vector<Complex>& nodes, std::span<const uint32_t> loads, CodeForm& form) {
  form.accumulators = form.stragglers + form.parts;
  form.c.assign(size_t{form.accumulators} * form.workers, 0);
  form.v.assign(size_t{form.accumulators} * form.parts, 0);
  for (uint32_t part = 0; part < form.parts; ++part) {
    form.v[size_t{PowerOfPart(form, part)} * form.parts + part] = 1;
  }
  for (WorkerId worker = 0; worker < form.workers; ++worker) {
    Complex power = loads[worker] > 0 ? 1 : 0;
    for (uint32_t t = 0; t < form.accumulators; ++t) {
      form.c[size_t{t} * form.workers + worker] = power;
      power *= nodes[worker];
    }
  }
  if (form.parts > 1) return;
  form.nodes = nodes;
  for (WorkerId worker = 0; worker < form.workers; ++worker) {
    if (loads[worker] == 0) form.nodes[worker] = 0;
  }
}

// E[W,i,u]: one row per holder, one column per part.
Matrix HolderWeights(const CodeForm& form, std::span<const WorkerId> holders) {
  const Eigen::Index copies = form.accumulators;
  Matrix powers(copies, copies);
  Matrix wanted(copies, Eigen::Index{form.parts});
  for (uint32_t t = 0; t < form.accumulators; ++t) {
    for (uint32_t h = 0; h < form.accumulators; ++h) powers(t, h) = form.C(t, holders[h]);
    for (uint32_t part = 0; part < form.parts; ++part) wanted(t, part) = form.V(t, part);
  }
  return powers.fullPivLu().solve(wanted);
}

}  // namespace

Result<CodeForm> BuildShortCode(const CodeRequest& request) {
  MOTLEY_RETURN_IF_ERROR(CheckParts(request));
  CodeForm form = EmptyForm("short", request);
  form.field = Field::kComplexPacked;
  form.parts = request.parts;
  const uint32_t copies = form.stragglers + form.parts;
  const auto loads = Allocate(request.speeds, uint64_t{form.partitions} * copies, form.partitions);
  const CyclicWalk walk = WalkInOrder(SpreadOrder(form.workers), loads);
  if (request.draft) return DraftOf(walk, std::move(form));
  SetPowers(MiddleNodes(walk), loads, form);
  if (form.parts > 1) form.other_parts.resize(form.workers);
  for (const HeldRun& held : HeldRuns(walk, form.partitions, copies)) {
    const Matrix weights = HolderWeights(form, held.holders);
    for (Eigen::Index h = 0; h < weights.rows(); ++h) {
      const WorkerId holder = held.holders[h];
      for (PartitionId p = held.begin; p < held.end; ++p) {
        form.rows[holder].push_back({p, weights(h, 0)});
        for (Eigen::Index part = 1; part < weights.cols(); ++part) {
          form.other_parts[holder].push_back(weights(h, part));
        }
      }
    }
  }
  Finish(form);
  return form;
}

}  // namespace motley
