// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/approximate_code.h"

#include "coding/codes/repetition_code.h"

namespace motley {

Result<CodeForm> BuildApproximateCode(const CodeRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(CodeForm form, BuildRepetitionCode(request));
  form.name = "approximate";
  return form;
}

}  // namespace motley
