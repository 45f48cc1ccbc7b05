// SPDX-License-Identifier: Apache-2.0
#include "api/reports/audit_text.h"

#include <fmt/format.h>

#include "runtime/worker_names.h"

namespace motley {

std::string AuditText(const AuditWarning& warning) {
  const auto sent = [&](const AuditWarning::Suspect& by) {
    return fmt::format("the {} that {}{} sent differs by about {:.3g} % from the server's own",
                       warning.off, DescribeWorker(by.worker, by.name),
                       by.others > 0 ? fmt::format(" (and {} others)", by.others) : "",
                       100 * by.difference);
  };
  const std::string head = fmt::format("audit of step {}: ", warning.step);
  switch (warning.kind) {
    case AuditWarning::Kind::kSum:
      return head + fmt::format(
                        "what was decoded differs by about {:.3g} % from the server's own "
                        "sum, although all answers are right: please report this",
                        100 * warning.difference);
    case AuditWarning::Kind::kUnclear:
      return head + sent(*warning.suspect) +
             ", and no other answer is there to say who is right: that worker, this server, or "
             "neither if the trainer does not compute the same twice";
    case AuditWarning::Kind::kSumOf:
      return head + fmt::format(
                        "the part of the sum that {} formed differs by about {:.3g} % from the "
                        "server's own, although the answers are right{}. Updates since it joined "
                        "may be wrong{}",
                        DescribeWorker(*warning.worker, warning.name), 100 * warning.difference,
                        warning.sent_away ? ": it is sent away" : "",
                        warning.sent_away ? "" : ", and it stays: replace it");
    case AuditWarning::Kind::kBetween:
      return head + sent(*warning.suspect) +
             fmt::format(
                 ", but only in the part of the vector that {} sums: one of the two is wrong, "
                 "and no update can be relied on",
                 DescribeWorker(*warning.at, warning.name));
    case AuditWarning::Kind::kAnswer: break;
  }
  return head + sent({*warning.worker, warning.name, warning.difference, 0}) +
         ", and others agree with that" + (warning.sent_away ? ": it is sent away. " : ". ") +
         "Updates since it joined may be wrong";
}

}  // namespace motley
