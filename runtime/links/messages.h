// SPDX-License-Identifier: Apache-2.0
// What both nodes need to speak: control messages that own their bytes while they are sent, the
// polite goodbye, and orders as runs of partitions. Loop thread only.
#pragma once

#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "coding/code_form.h"
#include "training/trainers/trainer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

// Sends bytes that live until they have left.
SendId SendBytes(Transport& transport, PeerId peer, Header header, Bytes bytes, Priority priority,
                 Transport::Done done);

// Sends one control message. kBulk keeps it behind the slices that were sent before it.
template <typename Message>
void SendControl(Transport& transport, PeerId peer, Header header, const Message& message,
                 Priority priority = Priority::kControl, Transport::Done done = nullptr) {
  header.kind = FrameKind::kControl;
  SendBytes(transport, peer, header, EncodeControl(message), priority, std::move(done));
}

// An Error about `step`, with the words of `why`.
wire::ErrorT ErrorMessage(const Status& why, StepId step);
// The Status that an Error carries: unknown codes become kUnavailable, texts are cleaned and cut.
Status StatusOf(const wire::ErrorT& error);
// Why its sender leaves, cleaned and cut as well; empty: all is done.
std::string ReasonOf(const wire::LeaveT& leave);
// What became of the job, as its server says it in a goodbye, cleaned and cut too.
std::string FarewellOf(const wire::LeaveT& leave);

// Takes the same time wherever the two differ.
bool SameToken(const std::string& a, const std::string& b);

// kDataError unless each of `ids` is one of `partitions` partitions, and none is there twice.
Status CheckPartitions(const std::vector<uint32_t>& ids, size_t partitions);

// Row `row` of the encoding matrix, neighbours with equal coefficients merged.
struct RowRuns {
  std::vector<wire::Term> terms;
  std::vector<wire::Weight> other_parts;  // parts - 1 for each term.
};
RowRuns RunsOf(const CodeForm& form, RowId row);
// What an order asks for, as runs for a trainer in the order in which they are computed: its terms,
// or its list with neighbours merged ({4, 5, 9} is [4, 6) and [9, 10)). kDataError unless terms
// ascend within `partitions` partitions, there are as many coefficients as parts, these are finite,
// what is to be kept is one plain run, and a list has partitions that are there, once each.
Result<std::vector<PartitionTerm>> TermsOf(const wire::OrderT& order, uint32_t partitions);

}  // namespace motley
