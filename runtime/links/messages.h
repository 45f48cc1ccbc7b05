// SPDX-License-Identifier: Apache-2.0
// The messages that servers and workers share: control messages that own their bytes while
// they are sent, the goodbye, and orders as runs of partitions. Loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "coding/code_form.h"
#include "training/trainers/trainer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

// Sends bytes and keeps them until they have left.
SendId SendBytes(Transport& transport, PeerId peer, Header header, Bytes bytes, Priority priority,
                 Transport::Done done);

// Sends one control message. kBulk keeps it behind the slices that were sent before it.
template <typename Message>
void SendControl(Transport& transport, PeerId peer, Header header, const Message& message,
                 Priority priority = Priority::kControl, Transport::Done done = nullptr) {
  header.kind = FrameKind::kControl;
  SendBytes(transport, peer, header, EncodeControl(message), priority, std::move(done));
}

// Sends floats in slices of this length as frames of the header's kind. They belong at the header's
// offset in a vector of its total length. `keep` owns them until all have left.
void SendFloats(Transport& transport, PeerId peer, Header header, std::span<const float> values,
                const std::shared_ptr<const void>& keep, size_t slice_length);

// Complex numbers of messages. None counts as 0.
inline wire::Weight ToWire(const Complex& value) { return {value.real(), value.imag()}; }
inline Complex FromWire(const std::unique_ptr<wire::Weight>& value) {
  return value == nullptr ? Complex() : Complex(value->re(), value->im());
}

// An Error about `step`, with the text of `why`.
wire::ErrorT ErrorMessage(const Status& why, StepId step);
// The Status that an Error carries. Unknown codes become kUnavailable; texts are cleaned and cut.
Status StatusOf(const wire::ErrorT& error);
// The sender's reason to leave, cleaned and cut. It is empty when all is done.
std::string ReasonOf(const wire::LeaveT& leave);
// The outcome of the job, as the server's goodbye states it, cleaned and cut.
std::string FarewellOf(const wire::LeaveT& leave);

// Compares in constant time, wherever the two differ.
bool SameToken(const std::string& a, const std::string& b);

// kDataError unless each of `ids` is below `partitions` and appears once.
Status CheckPartitions(const std::vector<uint32_t>& ids, size_t partitions);

// Row `row` of the encoding matrix. Neighbours with equal coefficients are merged.
struct RowRuns {
  std::vector<wire::Term> terms;
  std::vector<wire::Weight> other_parts;  // parts - 1 weights for each term.
};
RowRuns RunsOf(const CodeForm& form, RowId row);
// The partitions that an order asks for, as runs for a trainer in the order of computation: the
// order's terms, or its list with neighbours merged ({4, 5, 9} is [4, 6) and [9, 10)). kDataError
// unless terms ascend within `partitions`, each has as many finite coefficients as there are parts,
// an answer to be kept is one plain run, and a list names existing partitions once each.
Result<std::vector<PartitionTerm>> TermsOf(const wire::OrderT& order, uint32_t partitions);

}  // namespace motley
