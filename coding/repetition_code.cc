// SPDX-License-Identifier: Apache-2.0
#include "coding/repetition_code.h"

#include "coding/allocation.h"
#include "coding/none_code.h"
#include "coding/placement.h"

namespace motley {
namespace {

void AddGroups(uint32_t copies, CodeForm& form) {
  const uint32_t groups = form.workers / copies;
  for (WorkerId worker = 0; worker < form.workers; ++worker) {
    const uint32_t group = worker % groups;
    AppendRun(GroupBegin(group, groups, form.partitions),
              GroupBegin(group + 1, groups, form.partitions), 1, form.rows[worker]);
  }
}

void AddClasses(const CodeRequest& request, CodeForm& form) {
  const auto classes = BalancedClasses(request.speeds, request.stragglers + 1);
  for (const auto& members : classes) {
    std::vector<double> speeds;
    for (WorkerId worker : members) speeds.push_back(request.speeds[worker]);
    Tile(members, Allocate(speeds, form.partitions, form.partitions), form);
  }
  SetClasses(classes, form);
}

}  // namespace

Result<CodeForm> BuildRepetitionCode(const CodeRequest& request) {
  const uint32_t copies = request.stragglers + 1;
  if (copies == 1) {
    MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildNoneCode(request));
    form.name = "repetition";
    return form;
  }
  CodeForm form = EmptyForm("repetition", request);
  if (EqualSpeeds(request.speeds) && form.workers % copies == 0) {
    AddGroups(copies, form);
  } else {
    AddClasses(request, form);
  }
  Finish(form);
  return form;
}

}  // namespace motley
