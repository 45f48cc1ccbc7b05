// SPDX-License-Identifier: Apache-2.0
// Several messages per worker and step (Ozfatura, Gunduz, Ulukus, "Speeding up distributed gradient
// descent by utilizing non-persistent stragglers", ISIT 2019). Partitions are cut into chunks,
// every chunk is on s + 1 workers, and a worker sends a vector after each chunk of its list.
// Nothing is coded; the first vector of each chunk counts. So a straggler's work counts up to its
// last whole chunk, at the price of more vectors on the links.
//
// A worker's list is a stretch of one cyclic walk over the chunks, as long as its speed requires.
// Its order is that of LeastCoveredFirst (coding/placement/chunk_order.h), so that copies are
// computed last.
#pragma once

#include "coding/gradient_code.h"

namespace motley {

// The default number of messages of a worker of average speed, copies included; if no worker is
// late, 1 / (s + 1) of them are needed. There are fewer chunks if a faster worker would have to
// send more than eight times this number, and never fewer chunks than workers.
inline constexpr uint32_t kMessagesPerWorker = 6;

// A CodeForm without a name. Each chunk is a row on `copies` lists, which have at most `most`
// chunks if possible. The request has passed the checks of BuildCode.
CodeForm ListChunks(const CodeRequest& request, uint32_t copies, uint32_t most);

// A CodeForm with lists. kInvalidArgument for more stragglers than lists can serve.
Result<CodeForm> BuildMultiMessageCode(const CodeRequest& request);

}  // namespace motley
