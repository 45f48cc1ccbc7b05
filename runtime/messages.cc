// SPDX-License-Identifier: Apache-2.0
#include "runtime/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.h"

namespace motley {
namespace {

constexpr size_t kMaxErrorText = 1024;  // Bytes of a peer's words, before we repeat them.

}  // namespace

SendId SendBytes(Transport& transport, PeerId peer, Header header,
                 std::shared_ptr<const Bytes> bytes, Priority priority, Transport::Done done) {
  const BytesView piece(*bytes);
  const std::span<const BytesView> pieces(&piece, 1);
  if (!done) {
    return transport.Send(peer, header, pieces, priority,
                          [bytes = std::move(bytes)](const Status&) {});
  }
  return transport.Send(peer, header, pieces, priority,
                        [bytes = std::move(bytes), done = std::move(done)](Status status) {
                          done(std::move(status));
                        });
}

wire::ErrorT ErrorMessage(const Status& why, StepId step) {
  wire::ErrorT error;
  error.code = static_cast<uint32_t>(why.code());
  error.message = CleanText(why.ToString(), kMaxErrorText);
  error.step = step;
  return error;
}

Status StatusOf(const wire::ErrorT& error) {
  const bool known = error.code > 0 && error.code <= static_cast<uint32_t>(StatusCode::kCallback);
  return Status(known ? static_cast<StatusCode>(error.code) : StatusCode::kUnavailable,
                CleanText(error.message, kMaxErrorText));
}

std::string ReasonOf(const wire::LeaveT& leave) { return CleanText(leave.reason, kMaxErrorText); }

Status CheckPartitions(const std::vector<uint32_t>& ids, size_t partitions) {
  std::vector<bool> seen(partitions, false);
  for (const uint32_t id : ids) {
    if (id >= partitions || seen[id]) {
      return Status::DataError(fmt::format("a list with partition {} of {}{}", id, partitions,
                                           id < partitions ? " twice" : ""));
    }
    seen[id] = true;
  }
  return Status::Ok();
}

std::vector<wire::Term> RunsOf(const CodeForm& form, RowId row) {
  std::vector<wire::Term> runs;
  runs.reserve(form.rows[row].size());
  for (const CodeEntry& entry : form.rows[row]) {
    const double re = entry.coefficient.real();
    const double im = entry.coefficient.imag();
    if (!runs.empty() && runs.back().end() == entry.partition && runs.back().re() == re &&
        runs.back().im() == im) {
      runs.back() = wire::Term(runs.back().begin(), entry.partition + 1, re, im);
    } else {
      runs.emplace_back(entry.partition, entry.partition + 1, re, im);
    }
  }
  return runs;
}

Result<std::vector<PartitionTerm>> TermsOf(const wire::AssignT& assign, uint32_t partitions) {
  std::vector<PartitionTerm> terms;
  terms.reserve(assign.terms.size());
  PartitionId next = 0;
  for (const wire::Term& run : assign.terms) {
    if (run.begin() < next || run.end() <= run.begin() || run.end() > partitions ||
        !std::isfinite(run.re()) || !std::isfinite(run.im())) {
      return Status::DataError(
          fmt::format("the server assigned partitions {} to {} of {} with coefficient {}+{}i",
                      run.begin(), run.end(), partitions, run.re(), run.im()));
    }
    terms.push_back({run.begin(), run.end(), {run.re(), run.im()}});
    next = run.end();
  }
  return terms;
}

}  // namespace motley
