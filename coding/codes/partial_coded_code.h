// SPDX-License-Identifier: Apache-2.0
// What workers compute and keep with code "partial-coded" (Ramamoorthy, Meng, Girimaji, NeurIPS
// 2024, arXiv 2405.19509; coding/decode/partial_code.h): the chunks of multi_message_code.h, on s +
// l lists each. As soon as l holders of every chunk have done it, early or late in their lists,
// each worker answers once, with 1/l of a gradient; what, follows from who has done what
// (partial_rows.h). Pure; any thread.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// Sums that a worker keeps in a step are at most so many, or s + l if those are more; one of
// average speed keeps kMessagesPerWorker of them.
inline constexpr uint32_t kMostKept = 16;

// "partial-coded": lists, kept for l = m parts, or fewer where the holders of some chunk are too
// alike for m (PartialCode's R). kInvalidArgument unless 1 <= m <= kMaxParts and s + m <= n.
Result<CodeForm> BuildPartialCodedCode(const CodeRequest& request);

}  // namespace motley
