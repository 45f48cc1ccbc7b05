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
                [this](StepId step) { server_.observer.OnEvent(event::AuditGivenUp{step}); },
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
  const bool any = !finding.wrong.empty() || !finding.wrong_sums.empty();
  if (!any || !finding.confirmed) {
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
  if (!finding.told) failures_ += finding.wrong.size() + finding.wrong_sums.size();
  for (const Auditor::Finding::Worker& wrong : finding.wrong) OnWrong(finding, wrong);
  for (const WorkerId node : finding.wrong_sums) OnWrongSum(finding, node);
}

void AuditFindings::OnWrong(const Auditor::Finding& finding,
                            const Auditor::Finding::Worker& wrong) {
  const std::string& name = server_.peers.seats()[wrong.worker].name;
  if (wrong.only_at) {
    return Warn({.step = finding.step,
                 .name = server_.peers.seats()[*wrong.only_at].name,
                 .kind = AuditWarning::Kind::kBetween,
                 .off = wrong.verdict.off,
                 .suspect = {{wrong.worker, name, wrong.verdict.difference, 0}},
                 .at = wrong.only_at});
  }
  const bool still_here = auditor_.log().LifeOf(wrong.worker) == wrong.life;
  const bool ban = still_here && MaySendAway(wrong.worker);
  Warn({.step = finding.step,
        .worker = wrong.worker,
        .name = name,
        .difference = wrong.verdict.difference,
        .sent_away = ban,
        .off = wrong.verdict.off});
  if (!ban) return;
  server_.peers.Ban(wrong.worker,
                    Status::DataError(fmt::format(
                        "its answer to step {} was wrong, which an audit found", finding.step)));
}

// Shard servers stay: their owner put them beside the server, and workers may not hold their part.
void AuditFindings::OnWrongSum(const Auditor::Finding& finding, WorkerId node) {
  const bool ban = server_.Computes(node) && MaySendAway(node);
  Warn({.step = finding.step,
        .worker = node,
        .name = server_.peers.seats()[node].name,
        .difference = finding.decode_error,
        .sent_away = ban,
        .kind = AuditWarning::Kind::kSumOf});
  if (!ban) return;
  server_.peers.Ban(
      node, Status::DataError(fmt::format(
                "its part of the sum of step {} was wrong, which an audit found", finding.step)));
}

bool AuditFindings::MaySendAway(WorkerId worker) const {
  return server_.options.foreign == nullptr && !server_.end.ended() &&
         server_.SessionOf(worker) != nullptr;
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
  static_cast<AuditCounts&>(history) = auditor_.counts();
  history.audit_failures = failures_;
}

AuditRecord AuditFindings::Record() const {
  return {.max_difference = auditor_.max_difference(), .warnings = warnings_};
}

}  // namespace motley
