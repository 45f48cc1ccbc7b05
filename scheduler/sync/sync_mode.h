// SPDX-License-Identifier: Apache-2.0
// How the updates of a job are synchronised, as users write it. The list has an entry for each
// mode; the help, the message about unknown modes and the simulator's draws read it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

struct SyncMode {
  bool one_each = false;               // Each worker has updates of its own.
  std::optional<uint32_t> most_ahead;  // With one_each: the bound S; none: no bound.
  // With most_ahead: the bound varies from this one to most_ahead (DynamicBound); none: it is
  // fixed.
  std::optional<uint32_t> least_bound;
  bool in_order = false;      // With one_each: updates are applied in the order of their numbers.
  bool own_momentum = false;  // With one_each: each worker's updates have a momentum of their own.
  uint32_t backup = 0;        // With a barrier: a step ends when all but so many workers answered.
  // Workers take steps of their own on their rows, so many each on average (H); 0: none.
  uint32_t local_steps = 0;
  // With local_steps: so many steps of the next round are taken while vectors travel (K).
  uint32_t local_ahead = 0;

  // Two workers would answer the same row differently, so their answers must not meet in one sum.
  bool answers_differ() const { return one_each || local_steps > 0; }

  // With one_each: a worker that did `own` updates may begin another, when the slowest worker did
  // `slowest`.
  bool MayBegin(uint64_t own, uint64_t slowest) const {
    return !most_ahead || own <= slowest + *most_ahead;
  }
  bool bounded() const { return most_ahead.has_value(); }  // MayBegin may be false.
  bool operator==(const SyncMode&) const = default;
};

struct SyncForm {
  using Numbers = std::array<uint32_t, 2>;

  std::string_view form;     // "asp", or with numbers of its own: "ssp:S", "dssp:LO,HI".
  std::string_view summary;  // For --help.
  SyncMode (*make)(const Numbers& numbers);
  uint32_t least = 0;  // The first number is not below it.
  bool falls = false;  // The second number is below the first; otherwise numbers do not fall.

  // How many numbers it has, at most 2.
  size_t numbers() const;
};

// The first is the default.
std::span<const SyncForm> SyncForms();

// kInvalidArgument for anything else than the forms.
Result<SyncMode> ParseSyncMode(std::string_view text);
std::string NameOf(const SyncMode& mode);

}  // namespace motley
