// SPDX-License-Identifier: Apache-2.0
// Re-encodes control messages that are sent every step and differ in a few numbers. Pure; any
// thread.
#pragma once

#include "transport/wire/control.h"

namespace motley {

// Makes `bytes` equal to EncodeControl(message). `bytes` is an earlier message of this kind, or
// empty. It is changed in place if the same fields have their default values as before.
void EncodeAgain(const wire::AnswerEndT& message, Bytes& bytes);
void EncodeAgain(const wire::ProgressT& message, Bytes& bytes);

}  // namespace motley
