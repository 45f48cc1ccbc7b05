// SPDX-License-Identifier: Apache-2.0
#include "coding/approximate_code.h"

#include "coding/repetition_code.h"

namespace motley {

Result<CodeForm> BuildApproximateCode(const CodeRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildRepetitionCode(request));
  form.name = "approximate";
  return form;
}

}  // namespace motley
