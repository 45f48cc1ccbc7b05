// SPDX-License-Identifier: Apache-2.0
// Reed-Solomon gradient code on the complex unit circle (Halbawi, Azizan, Salehi, Hassibi, ISIT
// 2018). Group j of n equal groups of partitions is on workers j - s, ..., j (mod n), and a stride
// spreads their nodes round the circle. Loads are equal, whatever the speeds.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildReedSolomonCode(const CodeRequest& request);

}  // namespace motley
