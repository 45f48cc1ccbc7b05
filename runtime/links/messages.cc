// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text.h"

namespace motley {
namespace {

constexpr size_t kMaxErrorText = 1024;  // Bytes of a peer's text that are repeated in errors.

// Checks that an answer to be kept is a plain sum, and that the coefficients of the other parts
// fit.
Status CheckParts(const wire::OrderT& order) {
  const std::vector<wire::Term>& terms = order.terms;
  const bool plain = terms.size() == 1 && terms[0].re() == 1 && terms[0].im() == 0;
  if (order.keep && (order.parts != 1 || !plain)) {
    return Status::DataError(
        fmt::format("the server wants {} terms in {} parts kept: only a plain sum over one run of "
                    "partitions can be",
                    terms.size(), order.parts));
  }
  if (order.revocable || !order.partitions.empty() || order.parts < 1 || order.parts > kMaxParts ||
      order.other_parts.size() != (size_t{order.parts} - 1) * terms.size()) {
    return Status::DataError(
        fmt::format("the server ordered a row of {} terms in {} parts with {} coefficients beside "
                    "the first part's{}",
                    terms.size(), order.parts, order.other_parts.size(),
                    order.revocable ? ", to be taken back" : ""));
  }
  for (const wire::Weight& weight : order.other_parts) {
    if (std::isfinite(weight.re()) && std::isfinite(weight.im())) continue;
    return Status::DataError(
        fmt::format("the server ordered a row with coefficient {}+{}i", weight.re(), weight.im()));
  }
  return Status::Ok();
}

Result<std::vector<PartitionTerm>> TermsOfRow(const wire::OrderT& order, uint32_t partitions) {
  MOTLEY_RETURN_IF_ERROR(CheckParts(order));
  const size_t others = size_t{order.parts} - 1;
  std::vector<PartitionTerm> terms;
  terms.reserve(order.terms.size());
  PartitionId next = 0;
  for (const wire::Term& run : order.terms) {
    if (run.begin() < next || run.end() <= run.begin() || run.end() > partitions ||
        !std::isfinite(run.re()) || !std::isfinite(run.im())) {
      return Status::DataError(
          fmt::format("the server ordered partitions {} to {} of {} with coefficient {}+{}i",
                      run.begin(), run.end(), partitions, run.re(), run.im()));
    }
    const wire::Weight* from = order.other_parts.data() + terms.size() * others;
    terms.push_back({run.begin(), run.end(), {run.re(), run.im()}, {}});
    for (size_t i = 0; i < others; ++i) {
      terms.back().other_parts.emplace_back(from[i].re(), from[i].im());
    }
    next = run.end();
  }
  return terms;
}

Result<std::vector<PartitionTerm>> TermsOfList(const wire::OrderT& order, uint32_t partitions) {
  MOTLEY_RETURN_IF_ERROR(
      CheckPartitions(order.partitions, partitions).WithContext("the server ordered"));
  if (order.keep || order.parts != 1 || !order.terms.empty()) {
    return Status::DataError("the server ordered a list with the terms of a row");
  }
  std::vector<PartitionTerm> terms;
  for (const PartitionId p : order.partitions) {
    if (!terms.empty() && terms.back().end == p) {
      ++terms.back().end;
    } else {
      terms.push_back({p, p + 1, 1.0, {}});
    }
  }
  return terms;
}

}  // namespace

SendId SendBytes(Transport& transport, PeerId peer, Header header, Bytes bytes, Priority priority,
                 Transport::Done done) {
  const BytesView piece(bytes);  // The bytes stay in place when their owner moves.
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

void SendFloats(Transport& transport, PeerId peer, Header header, std::span<const float> values,
                const std::shared_ptr<const void>& keep, size_t slice_length) {
  while (!values.empty()) {
    const std::span<const float> slice = values.first(std::min(slice_length, values.size()));
    const BytesView piece = AsBytes(slice);
    transport.Send(peer, header, {&piece, 1}, Priority::kBulk, [keep](const Status&) {});
    header.offset += slice.size();
    values = values.subspan(slice.size());
  }
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

std::string FarewellOf(const wire::LeaveT& leave) {
  std::string said = CleanText(leave.farewell, kMaxErrorText);
  return said.empty() ? "the job has ended" : said;
}

bool SameToken(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    const char other = b.empty() ? '\0' : b[i % b.size()];
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(other);
  }
  return difference == 0;
}

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

RowRuns RunsOf(const CodeForm& form, RowId row) {
  RowRuns runs;
  const std::vector<CodeEntry>& entries = form.rows[row];
  const auto same_weights = [&](size_t e) {
    for (uint32_t part = 0; part < form.parts; ++part) {
      if (form.B(row, e, part) != form.B(row, e - 1, part)) return false;
    }
    return true;
  };
  for (size_t e = 0; e < entries.size(); ++e) {
    const PartitionId partition = entries[e].partition;
    const Complex first = entries[e].coefficient;
    if (!runs.terms.empty() && runs.terms.back().end() == partition && same_weights(e)) {
      const PartitionId begin = runs.terms.back().begin();
      runs.terms.back() = wire::Term(begin, partition + 1, first.real(), first.imag());
      continue;
    }
    runs.terms.emplace_back(partition, partition + 1, first.real(), first.imag());
    for (uint32_t part = 1; part < form.parts; ++part) {
      const Complex other = form.B(row, e, part);
      runs.other_parts.emplace_back(other.real(), other.imag());
    }
  }
  return runs;
}

Result<std::vector<PartitionTerm>> TermsOf(const wire::OrderT& order, uint32_t partitions) {
  return order.cover_known ? TermsOfRow(order, partitions) : TermsOfList(order, partitions);
}

}  // namespace motley
