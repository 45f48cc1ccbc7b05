// SPDX-License-Identifier: Apache-2.0
// The lists of code "partial-coded" (Ramamoorthy, Meng, Girimaji, NeurIPS 2024, arXiv 2405.19509;
// coding/decode/partial_code.h). Chunks are those of multi_message_code.h, on s + l lists each;
// workers keep their sums. As soon as l holders of every chunk have computed it, early or late in
// their lists, each worker answers once with 1/l of a gradient. The content of the answers depends
// on the chunks that each worker has computed (partial_rows.h). Pure; any thread.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// A worker keeps at most this many sums in a step, or s + l if that is more. A worker of average
// speed keeps kMessagesPerWorker of them.
inline constexpr uint32_t kMostKept = 16;

// "partial-coded": lists, kept for l = m parts. l is smaller if the holders of some chunk are too
// similar for m (PartialCode's R). kInvalidArgument unless 1 <= m <= kMaxParts and s + m <= n.
Result<CodeForm> BuildPartialCodedCode(const CodeRequest& request);

}  // namespace motley
