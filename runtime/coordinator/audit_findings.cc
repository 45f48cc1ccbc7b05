// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/audit_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/coordinator/dispatcher.h"
#include "runtime/coordinator/job_ending.h"
#include "runtime/coordinator/server_peers.h"
#include "runtime/coordinator/step_watch.h"

namespace motley {

AuditFindings::AuditFindings(ServerContext& server)
    : server_(server),
      auditor_(server.env.loop,
               server.env.audit_device != nullptr ? *server.env.audit_device : server.env.device,
               server.options, server.model->gradient(), server.data, server.schedule,
               {[this](const Auditor::Finding& finding) { OnFinding(finding); },
                [this](const Status& why) { server_.Say(notice::Trouble{why}); },
                [this] {
                  server_.watch.Progress();  // An update may have waited.
                  server_.dispatcher.SendHeldCancels();
                  server_.end.Check();
                }}) {
  const auto& resume = server.options.resume;
  if (resume != nullptr) failures_ = resume->about.history.audit_failures;
}

// A worker with a wrong answer is sent away if another worker confirmed the server's result. With
// the caller's trainers there is only a warning, because they may compute differently on different
// devices.
void AuditFindings::OnFinding(const Auditor::Finding& finding) {
  if (finding.wrong.empty() || !finding.confirmed) {
    AuditWarning warning{
        .step = finding.step, .difference = finding.decode_error, .kind = AuditWarning::Kind::kSum};
    if (!finding.wrong.empty()) {
      const Auditor::Finding::Worker& first = finding.wrong.front();
      warning.kind = AuditWarning::Kind::kUnclear;
      warning.off = first.verdict.off;
      warning.suspect = {first.worker, server_.peers.seats()[first.worker].name,
                         first.verdict.difference, finding.wrong.size() - 1};
    }
    failures_ += std::max<size_t>(finding.wrong.size(), 1);
    return Warn(std::move(warning));
  }
  // Each wrong answer counts once.
  if (!finding.told) failures_ += finding.wrong.size();
  for (const Auditor::Finding::Worker& wrong : finding.wrong) {
    const bool still_here = auditor_.log().LifeOf(wrong.worker) == wrong.life;
    const bool ban = still_here && server_.options.foreign == nullptr && !server_.end.ended() &&
                     server_.SessionOf(wrong.worker) != nullptr;
    Warn({.step = finding.step,
          .worker = wrong.worker,
          .name = server_.peers.seats()[wrong.worker].name,
          .difference = wrong.verdict.difference,
          .sent_away = ban,
          .off = wrong.verdict.off});
    if (!ban) continue;
    server_.peers.Ban(wrong.worker,
                      Status::DataError(fmt::format(
                          "its answer to step {} was wrong, which an audit found", finding.step)));
  }
}

void AuditFindings::Warn(AuditWarning warning) {
  constexpr size_t kMost = 100;
  constexpr size_t kToldOfNobody = 3;  // Warnings without a worker; more would repeat them.
  if (warning.worker || warnings_.size() < kToldOfNobody) {
    server_.observer.OnEvent(event::AuditWarned{warning});
  }
  if (warnings_.size() < kMost) warnings_.push_back(std::move(warning));
}

void AuditFindings::AddTo(JobHistory& history) const {
  history.max_decode_error = auditor_.max_decode_error();
  history.audited_steps = auditor_.audited_steps();
  history.audit_failures = failures_;
}

AuditRecord AuditFindings::Record() const {
  return {.max_difference = auditor_.max_difference(), .warnings = warnings_};
}

}  // namespace motley
