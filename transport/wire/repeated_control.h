// SPDX-License-Identifier: Apache-2.0
// Control messages of which many alike are sent: from step to step a few numbers differ. Pure; any
// thread.
#pragma once

#include "transport/wire/control.h"

namespace motley {

// Makes `bytes`, an earlier message of this kind or nothing, those of EncodeControl(message): in
// place, where the same fields are at their defaults as before.
void EncodeAgain(const wire::AnswerEndT& message, Bytes& bytes);
void EncodeAgain(const wire::ProgressT& message, Bytes& bytes);

}  // namespace motley
