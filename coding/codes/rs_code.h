// SPDX-License-Identifier: Apache-2.0
// Reed-Solomon gradient code on the complex unit circle (Halbawi, Azizan, Salehi, Hassibi, ISIT
// 2018): group j of n equal groups of partitions is on workers j - s, ..., j (mod n), whose nodes
// are spread round the circle by a stride. Speeds do not matter: loads are equal.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

Result<CodeForm> BuildReedSolomonCode(const CodeRequest& request);

}  // namespace motley
