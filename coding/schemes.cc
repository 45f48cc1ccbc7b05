// SPDX-License-Identifier: Apache-2.0
#include "coding/schemes.h"

#include <algorithm>

#include "coding/codes/approximate_code.h"
#include "coding/codes/cyclic_code.h"
#include "coding/codes/graph_code.h"
#include "coding/codes/group_code.h"
#include "coding/codes/heterogeneous_code.h"
#include "coding/codes/multi_message_code.h"
#include "coding/codes/none_code.h"
#include "coding/codes/partial_coded_code.h"
#include "coding/codes/repetition_code.h"
#include "coding/codes/rs_code.h"
#include "coding/codes/short_code.h"

namespace motley {
namespace {

// Beyond so many workers constructions that search, or solve for every set, take too long.
constexpr size_t kManyWorkers = 512;
constexpr size_t kMostCyclicWorkers = 96;

// Schemes with other answers than one sum of a gradient's length from each worker, or with other
// steps.
std::vector<Scheme> OtherSchemes() {
  return {
      {.name = "multi-message",
       .summary = "a vector for every few partitions, the first copy of each counts; no code",
       .sharing = Sharing::kRowList,
       .build = &BuildMultiMessageCode,
       .for_auto = true},
      {.name = "approximate",
       .summary = "copies as of repetition; a step need not wait for what exactness takes",
       .build = &BuildApproximateCode,
       .exact = false,
       .weighs = true,
       .least_copies = 1,
       .most_planned_workers = kManyWorkers},
      {.name = "short",
       .summary = "answers 1/m as long as a gradient, for s + m copies, for thin links (Ye, Abbe)",
       .build = &BuildShortCode,
       .has_parts = true,
       .weighs = true,
       .for_auto = true},
      {.name = "partial-coded",
       .summary = "answers 1/m as long, weighted by who has done what of up to s + m copies "
                  "(Ramamoorthy)",
       .sharing = Sharing::kKeptRows,
       .build = &BuildPartialCodedCode,
       .has_parts = true,
       .weighs = true},
      {.name = "adaptive",
       .summary = "no coding; work moves within a step from who is late to whoever has a copy",
       .sharing = Sharing::kLeases,
       .least_copies = 1,
       .for_auto = true},
  };
}

// Jobs choose no code with equal shares: where all workers are alike repetition is as fast, and
// elsewhere heterogeneous is faster; building them takes a job's loop too long.
std::vector<Scheme> MakeList() {
  std::vector<Scheme> all = {
      {.name = "auto",
       .summary = "chosen from the others while the job runs, by what the workers turn out to be",
       .sharing = Sharing::kChosenLater,
       .least_copies = 0},
      {.name = "none",
       .summary = "no redundancy; shares follow the speeds; every answer is needed",
       .build = &BuildNoneCode,
       .keeps_copies = false,
       .least_copies = 1,
       .for_auto = true},
      {.name = "repetition",
       .summary = "copies with plain sums; shares follow the speeds; exact to rounding",
       .build = &BuildRepetitionCode,
       .for_auto = true},
      {.name = "cyclic",
       .summary = "Tandon's random cyclic code; equal shares whatever the speeds; for small n, s",
       .build = &BuildCyclicCode,
       .follows_speeds = false,
       .weighs = true,
       .most_planned_workers = kMostCyclicWorkers},
      {.name = "heterogeneous",
       .summary = "coded shares that follow the speeds (Wang et al.), on the unit circle",
       .build = &BuildHeterogeneousCode,
       .weighs = true,
       .for_auto = true},
      {.name = "group",
       .summary = "heterogeneous shares, plain sums in groups that tile the data; coded outside",
       .build = &BuildGroupCode,
       .weighs = true,
       .most_planned_workers = kManyWorkers,
       .for_auto = true},
      {.name = "rs",
       .summary = "Reed-Solomon on the unit circle; equal shares whatever the speeds",
       .build = &BuildReedSolomonCode,
       .follows_speeds = false,
       .weighs = true,
       .most_planned_workers = kManyWorkers},
      {.name = "graph",
       .summary = "two blocks per worker, plain sums; little error beyond s; equal shares",
       .build = &BuildGraphCode,
       .follows_speeds = false,
       .weighs = true,
       .least_copies = 0},
  };
  const std::vector<Scheme> others = OtherSchemes();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace

uint32_t Scheme::Computed(uint32_t stragglers, uint32_t parts) const {
  if (!keeps_copies || leases()) return 1;
  return stragglers + (has_parts ? parts : 1);
}

uint32_t Scheme::Tolerates(uint32_t copies) const {
  if (!has_parts) return copies - 1;
  const uint32_t spare = sharing == Sharing::kKeptRows ? 1 : 2;
  return copies > spare ? 1 : 0;
}

const std::vector<Scheme>& Schemes() {
  static const std::vector<Scheme> schemes = MakeList();
  return schemes;
}

std::vector<Scheme> CodedSchemes() {
  std::vector<Scheme> coded;
  for (const Scheme& scheme : Schemes()) {
    if (scheme.fixed_rows()) coded.push_back(scheme);
  }
  return coded;
}

const Scheme* FindScheme(std::string_view name) {
  const auto& all = Schemes();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Scheme& one) { return name == one.name; });
  return at == all.end() ? nullptr : &*at;
}

const Scheme& SchemeNamed(std::string_view name) {
  static const Scheme unknown{.name = "", .summary = "", .least_copies = 0};
  const Scheme* const scheme = FindScheme(name);
  return scheme != nullptr ? *scheme : unknown;
}

}  // namespace motley
