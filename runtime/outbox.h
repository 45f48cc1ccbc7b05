// SPDX-License-Identifier: Apache-2.0
// The vectors that a worker computes into and sends: two, so that one can be computed while the
// other is on its way. Loop thread only.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/alive.h"
#include "runtime/slicing.h"
#include "runtime/worker_node.h"
#include "transport/transport.h"

namespace motley {

class Outbox {
 public:
  // Free when `unsent` is 0 and nothing is computed into it.
  struct Vector {
    std::shared_ptr<std::vector<float>> sum;
    StepId step = 0;  // That it is for; these are the caller's to set.
    RowId row = 0;
    Tally tally;  // Of the samples in `sum`.
    bool computing = false;
    std::vector<SendId> sends;
    std::vector<double> sketches;  // Of the slices.
    size_t unsent = 0;
  };

  // `length` and `slice_length` in floats. `freed` runs when a vector has left, or was taken back.
  Outbox(Transport& transport, PeerId peer, size_t length, uint32_t slice_length,
         std::function<void()> freed);

  void SetFilter(AnswerFilter filter) { filter_ = std::move(filter); }

  // Null: both are in use.
  Vector* Free();
  // Makes a free vector this long; anew where it was not. kResource when there is no memory.
  static Status Fit(Vector& vector, size_t length);
  // Sends it in slices, behind what was sent before. `header` says whose and about what; length,
  // offset, norm, sketch and tally are filled in.
  void Send(Vector& vector, Header header);
  // Takes back what has not left of answers for steps up to this one.
  void Cancel(StepId step);
  void CancelRow(StepId step, RowId row);
  void TakeBack();  // All that has not left.

 private:
  static void Describe(Vector& vector, const Slicing& cut, Header& header);

  Transport& transport_;
  PeerId peer_;
  uint32_t slice_length_;
  std::function<void()> freed_;
  AnswerFilter filter_;
  std::array<Vector, 2> vectors_;
  Alive alive_;
};

}  // namespace motley
