// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/none_code.h"

#include <fmt/format.h>

#include <numeric>

#include "coding/placement/allocation.h"
#include "coding/placement/placement.h"

namespace motley {

Result<CodeForm> BuildNoneCode(const CodeRequest& request) {
  if (request.stragglers > 0) {
    return Status::InvalidArgument(fmt::format(
        "code \"none\" has no redundancy and cannot tolerate {} stragglers; tolerate 0, "
        "or use repetition, heterogeneous or rs",
        request.stragglers));
  }
  CodeForm form = EmptyForm("none", request);
  std::vector<WorkerId> workers(form.workers);
  std::iota(workers.begin(), workers.end(), 0);
  Tile(workers, Allocate(request.speeds, form.partitions, form.partitions), form);
  Finish(form);
  return form;
}

}  // namespace motley
