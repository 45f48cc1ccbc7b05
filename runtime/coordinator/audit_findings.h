// SPDX-License-Identifier: Apache-2.0
// Draws the consequences of what the audits of a job find: a worker with a wrong answer is sent
// away, the user is warned, and the report counts. Loop thread only.
#pragma once

#include "runtime/audit/auditor.h"
#include "runtime/coordinator/server_context.h"

namespace motley {

class AuditFindings {
 public:
  explicit AuditFindings(ServerContext& server);

  Auditor& auditor() { return auditor_; }

  void AddTo(JobHistory& history) const;
  AuditRecord Record() const;

 private:
  void OnFinding(const Auditor::Finding& finding);
  void OnWrong(const Auditor::Finding& finding, const Auditor::Finding::Worker& wrong);
  void OnWrongSum(const Auditor::Finding& finding, WorkerId node);
  bool MaySendAway(WorkerId worker) const;
  void Warn(AuditWarning warning);

  ServerContext& server_;
  uint64_t failures_ = 0;  // In all runs of the job.
  std::vector<AuditWarning> warnings_;
  Auditor auditor_;
};

}  // namespace motley
