// SPDX-License-Identifier: Apache-2.0
// The consequences of audits.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/server_job.h"
#include "runtime/links/messages.h"

namespace motley {

// A worker with a wrong answer is sent away if another worker confirmed the server's result. With
// the caller's trainers there is only a warning, because they may compute differently on different
// devices.
void ServerJob::OnAudit(const Auditor::Finding& finding) {
  if (finding.wrong.empty() || !finding.confirmed) {
    AuditWarning warning{
        .step = finding.step, .difference = finding.decode_error, .kind = AuditWarning::Kind::kSum};
    if (!finding.wrong.empty()) {
      const Auditor::Finding::Worker& first = finding.wrong.front();
      warning.kind = AuditWarning::Kind::kUnclear;
      warning.off = first.verdict.off;
      warning.suspect = {first.worker, peers_.NameOf(first.worker), first.verdict.difference,
                         finding.wrong.size() - 1};
    }
    audits_.failures += std::max<size_t>(finding.wrong.size(), 1);
    return Warn(std::move(warning));
  }
  // Each wrong answer counts once.
  if (!finding.told) audits_.failures += finding.wrong.size();
  for (const Auditor::Finding::Worker& wrong : finding.wrong) {
    const bool still_here = auditor_.log().LifeOf(wrong.worker) == wrong.life;
    const bool ban =
        still_here && options_.foreign == nullptr && !ended_ && SessionOf(wrong.worker) != nullptr;
    AuditWarning warning{.step = finding.step,
                         .worker = wrong.worker,
                         .name = peers_.NameOf(wrong.worker),
                         .difference = wrong.verdict.difference,
                         .sent_away = ban,
                         .off = wrong.verdict.off};
    Warn(std::move(warning));
    if (!ban) continue;
    peers_.Ban(wrong.worker, Status::DataError(fmt::format("its answer to step {} was wrong, which "
                                                           "an audit found",
                                                           finding.step)));
  }
}

// A cancel is held if an audit needs the copy, and if it would include an earlier held cancel.
bool ServerJob::Hold(const WorkersCancel& cancel) const {
  const auto same = [&](const WorkersCancel& held) { return held.worker == cancel.worker; };
  const bool all = cancel.cancel.order == 0;
  return (all && std::any_of(held_.begin(), held_.end(), same)) ||
         auditor_.NeedsCopies(cancel.cancel.step);
}

void ServerJob::TellOfCancel(const WorkersCancel& cancel) {
  if (Hold(cancel)) return held_.push_back(cancel);
  const Session& session = *SessionOf(cancel.worker);
  SendControl(env_.transport, session.peer, session.header, cancel.cancel);
}

void ServerJob::TellOfHeldCancels() {
  if (held_.empty() || auditor_.NeedsCopies(held_.front().cancel.step)) return;
  for (const WorkersCancel& held : std::exchange(held_, {})) TellOfCancel(held);
}

void ServerJob::Warn(AuditWarning warning) {
  constexpr size_t kMost = 100;
  constexpr size_t kToldOfNobody = 3;  // Warnings without a worker; more would repeat them.
  if (warning.worker || audits_.warnings.size() < kToldOfNobody) {
    observer_.OnEvent(event::AuditWarned{warning});
  }
  if (audits_.warnings.size() < kMost) audits_.warnings.push_back(std::move(warning));
}

}  // namespace motley
