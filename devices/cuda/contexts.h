// SPDX-License-Identifier: Apache-2.0
// Which device a thread has, as CUDA itself keeps it: its current context, or none. The runtime
// says "device 0" in both cases, and makes a context on it when it is told so.
#pragma once

namespace motley::cuda {

// Of the calling thread; null when it has none, or that cannot be known.
void* CurrentContext();
// Null: it has none.
void SetCurrentContext(void* context);

}  // namespace motley::cuda
