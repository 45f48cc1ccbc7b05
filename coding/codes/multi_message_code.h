// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step (Ozfatura, Gunduz, Ulukus, "Speeding up distributed gradient
// descent by utilizing non-persistent stragglers", ISIT 2019): partitions are cut into chunks,
// every chunk is on s + 1 workers, and a worker sends a vector after each chunk of its list.
// Nothing is coded; each chunk counts once, from whoever has it first. So what a straggler did
// counts up to its last whole chunk, at the price of more vectors on the links.
//
// A worker's list is a stretch of one cyclic walk over the chunks, in proportion to its speed, in
// the order of LeastCoveredFirst (coding/placement/chunk_order.h), so that copies are computed
// last.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// Messages on the list of a worker of average speed, copies included, where the request does not
// say: of them 1 / (s + 1) are needed while all is well. Chunks are fewer where a faster worker
// would have to send more than eight times as many, and never fewer than workers.
inline constexpr uint32_t kMessagesPerWorker = 6;

// A CodeForm without a name: each chunk is a row on `copies` lists, of at most `most` chunks each
// where that can be. The request has passed the checks of BuildCode.
CodeForm ListChunks(const CodeRequest& request, uint32_t copies, uint32_t most);

// A CodeForm with lists. kInvalidArgument for more stragglers than such lists can serve.
Result<CodeForm> BuildMultiMessageCode(const CodeRequest& request);

}  // namespace motley
