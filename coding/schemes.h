// SPDX-License-Identifier: Apache-2.0
// The one list of schemes: every way to share the work of a step, with what sets it apart. All
// that depends on a scheme asks for its traits and never compares its name. Pure; any thread.
//
// To add a gradient code: a file pair in coding/codes/ and one entry in schemes.cc, after the codes
// that are there, so that seeds of the simulator go on drawing what they drew.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "coding/code_form.h"

namespace motley {

struct CodeRequest {
  std::vector<double> speeds;  // One per worker, > 0; only their ratios count. All 1: equal shares.
  uint32_t stragglers = 0;     // s
  uint32_t partitions = 0;     // k, fixed by the job; at least one per worker.
  uint64_t seed = 0;           // For the codes that draw coefficients.
  uint32_t messages = 0;       // Per worker and step, of codes that send several; 0: their choice.
  uint32_t parts = 2;          // m of codes with parts: answers are 1/m as long as a gradient.
  bool draft = false;          // CodeForm::draft, of codes whose numbers take long to find.
};

// What a worker is given in a step.
enum class Sharing : uint8_t {
  kRow,         // One row of a code.
  kRowList,     // Several, each of which it answers by itself.
  kKeptRows,    // Several, which it keeps until it is known what they are to be mixed with.
  kLeases,      // Partitions that are taken back and given to others while the step runs.
  kChosenLater  // No scheme by itself: a job with it uses the others and chooses while it runs.
};

struct Scheme {
  const char* name;
  const char* summary;  // One line for --help.
  Sharing sharing = Sharing::kRow;
  // kInvalidArgument, with what to change, when the code cannot serve n, s, k or the speeds. Null
  // where no code says who computes what.
  Result<CodeForm> (*build)(const CodeRequest& request) = nullptr;

  bool exact = true;           // Its steps wait for what an exact sum takes.
  bool follows_speeds = true;  // Otherwise loads are equal whatever the speeds.
  bool has_parts = false;      // Answers are parts of gradients: CodeRequest::parts counts.
  bool keeps_copies = true;    // Otherwise each partition is one worker's, and s is 0.
  // Sums weigh answers, so that their errors grow or shrink. Otherwise answers are only added.
  bool weighs = false;

  // What the planner tries of it: copies of each partition from so many on (0: it is not tried),
  uint32_t least_copies = 2;
  // and on no more workers than this, because constructing it takes long.
  size_t most_planned_workers = std::numeric_limits<size_t>::max();
  bool for_auto = false;  // A job with kChosenLater may choose it.

  bool fixed_rows() const { return build != nullptr; }
  bool leases() const { return sharing == Sharing::kLeases; }
  bool chosen_later() const { return sharing == Sharing::kChosenLater; }
  // Workers have more than one row.
  bool lists() const { return sharing == Sharing::kRowList || sharing == Sharing::kKeptRows; }
  // Work is counted partition by partition, or row by row, and not all of a worker's at once.
  bool in_pieces() const { return leases() || lists(); }
  // Exact, with one row each that is as long as a gradient.
  bool plain_rows() const { return fixed_rows() && exact && !lists() && !has_parts; }
  // With r copies of each partition, those of r - 1 are where they would be with r - 1.
  bool nests() const { return leases() || !keeps_copies; }

  // How often each partition is computed when nothing is wrong: 1 without copies, s + m with
  // parts, s + 1 with rows. With lists of rows that is the most.
  uint32_t Computed(uint32_t stragglers, uint32_t parts) const;
  // What a planner's candidate with so many copies means to a job: workers that may be missing,
  uint32_t Tolerates(uint32_t copies) const;
  // and the number of parts of a gradient.
  uint32_t Parts(uint32_t copies) const { return has_parts ? copies - Tolerates(copies) : 1; }
};

// Every scheme, in the order of --help.
const std::vector<Scheme>& Schemes();
// Those of them that fix rows: the gradient codes.
std::vector<Scheme> CodedSchemes();
// Null for an unknown name.
const Scheme* FindScheme(std::string_view name);
// The traits of a scheme with one row each and copies for an unknown name.
const Scheme& SchemeNamed(std::string_view name);

}  // namespace motley
