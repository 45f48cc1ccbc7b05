// SPDX-License-Identifier: Apache-2.0
// The vectors that a worker computes into and sends: two, so that one can be computed while the
// other is on its way. Each slice says of itself what it holds (docs/decisions/0034), so it may
// leave while others of its vector are computed. Loop thread only.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/alive.h"
#include "runtime/links/slicing.h"
#include "runtime/worker/worker_node.h"
#include "transport/transport.h"

namespace motley {

class Outbox {
 public:
  // Free when `unsent` is 0 and nothing is computed into it.
  struct Vector {
    std::shared_ptr<std::vector<float>> sum;
    Tally tally;  // Of the samples in `sum`; the caller sets it before the first slice leaves.
    bool computing = false;

    // The outbox's own.
    Header header;              // Of its slices: the step and the order that it answers.
    std::vector<size_t> final;  // By slice, how many of its values are; kSent: it was sent.
    std::vector<SendId> sends;
    size_t unsent = 0;
  };

  // `length` and `slice_length` in floats. `freed` runs when a vector has left, or was taken back.
  Outbox(Transport& transport, PeerId peer, size_t length, uint32_t slice_length,
         std::function<void()> freed);

  // For vectors of which nothing has left.
  void SetFilter(AnswerFilter filter) { filter_ = std::move(filter); }

  // Null: both are in use.
  Vector* Free();
  // Makes a free vector this long; anew where it was not. kResource when there is no memory.
  static Status Fit(Vector& vector, size_t length);
  // What will be computed into the vector answers this step and order. Length, offset, norm, sketch
  // and tally are filled in when slices leave.
  void Describe(Vector& vector, const Header& header);
  // Values [begin, end) will not change any more. Slices of which all values are final leave,
  // behind what was sent before; with a filter none does.
  void Final(Vector& vector, size_t begin, size_t end);
  // All of it is final. Sends the slices that have not been sent.
  void Send(Vector& vector);
  // Takes back what has not left of the answers to this order, or with 0 to all orders of steps up
  // to this one.
  void Cancel(StepId step, uint32_t order = 0);
  void TakeBack();  // All that has not left.

 private:
  static constexpr size_t kSent = SIZE_MAX;
  Slicing CutOf(const Vector& vector) const { return {vector.sum->size(), slice_length_}; }
  void SendSlice(Vector& vector, size_t slice);

  Transport& transport_;
  PeerId peer_;
  uint32_t slice_length_;
  std::function<void()> freed_;
  AnswerFilter filter_;
  std::array<Vector, 2> vectors_;
  Alive alive_;
};

}  // namespace motley
