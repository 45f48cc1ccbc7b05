// SPDX-License-Identifier: Apache-2.0
// LIBSVM text: one sample per line, "LABEL INDEX:VALUE ...", with ascending indices from 1; '#'
// starts a comment. Absent entries are 0.
#pragma once

#include "data/raw_samples.h"

namespace motley {

extern const FileFormat kLibsvmFormat;

}  // namespace motley
