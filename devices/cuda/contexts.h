// SPDX-License-Identifier: Apache-2.0
// The device of a thread as CUDA keeps it: the current context, or none. The runtime reports
// "device 0" in both cases, and setting device 0 there makes a context on it.
#pragma once

namespace motley::cuda {

// The calling thread's context; null when it has none or it cannot be determined.
void* CurrentContext();
// Null removes the thread's context.
void SetCurrentContext(void* context);

}  // namespace motley::cuda
