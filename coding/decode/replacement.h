// SPDX-License-Identifier: Apache-2.0
// Which rows of a step somebody else has to answer when the workers that they were meant for do
// not. Pure arithmetic on the code's form and on who is absent; any thread.
//
// Example: a Reed-Solomon code of five workers with s = 1, of which any four rows decode. When row
// 2 is absent, nothing has to be replaced. When rows 1, 2 and 4 are, two of them have to be: {1,
// 2}, the lowest.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "coding/code_form.h"
#include "coding/decode/c_shape.h"
#include "coding/decode/decoder.h"
#include "coding/decode/tiling.h"

namespace motley {

class Replacement {
 public:
  // Works out once what later questions about this form share. `limits` are the decoder's.
  explicit Replacement(std::shared_ptr<const CodeForm> form, DecodeLimits limits = {});

  const std::shared_ptr<const CodeForm>& form() const { return form_; }

  // Which of the `absent` rows (one flag per row) have to be answered so that the step decodes once
  // all other rows are there: empty when none are needed. The choice is the smallest that decodes,
  // lowest rows first, in ascending order.
  std::vector<RowId> RowsFor(const std::vector<bool>& absent) const;

 private:
  std::vector<RowId> TilesFor(const std::vector<bool>& present) const;
  std::vector<RowId> CheapestBlock(const std::vector<bool>& present) const;

  std::shared_ptr<const CodeForm> form_;
  DecodeLimits limits_;
  std::optional<Tiling> tiling_;  // Tiling forms have this,
  std::vector<CBlock> blocks_;    // and forms with accumulators have these.
};

}  // namespace motley
