// SPDX-License-Identifier: Apache-2.0
// Which updates of a job are open at a time, and from which version of the parameters each of them
// starts. How the work of one update is shared is another matter (StepEngine). Pure.
//
// With a barrier, update t starts from version t and is the only one:
//
//   Next() = {0, 0}   Opened(0)   Next() = none   Committed(0)   Next() = {1, 1}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"

namespace motley {

class SyncPolicy {
 public:
  virtual ~SyncPolicy() = default;

  // The update to open next; none until an open one is committed. Asking changes nothing.
  virtual std::optional<Update> Next() const = 0;
  // The update of Next() was opened. One that is opened again is not reported again.
  virtual void Opened(const Update& update) = 0;
  // An open update was applied, so one more version exists.
  virtual void Committed(StepId id) = 0;
};

// Bulk-synchronous training (Valiant 1990): each update starts from the result of the one before.
class Barrier final : public SyncPolicy {
 public:
  // The first `applied` updates were applied in an earlier run.
  explicit Barrier(uint64_t applied) : applied_(applied) {}

  std::optional<Update> Next() const override {
    return open_ ? std::nullopt : std::optional(Update{applied_, applied_});
  }
  void Opened(const Update&) override { open_ = true; }
  void Committed(StepId) override {
    open_ = false;
    ++applied_;
  }

 private:
  uint64_t applied_;
  bool open_ = false;
};

}  // namespace motley
