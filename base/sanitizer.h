// SPDX-License-Identifier: Apache-2.0
// Which sanitizer this translation unit is compiled for: MOTLEY_THREAD_SANITIZER and
// MOTLEY_ADDRESS_SANITIZER are 1 or 0. GCC defines macros of its own; clang answers
// __has_feature instead, which GCC 12 does not know.
#pragma once

#if defined(__has_feature)
#define MOTLEY_HAS_FEATURE(name) __has_feature(name)
#else
#define MOTLEY_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || MOTLEY_HAS_FEATURE(thread_sanitizer)
#define MOTLEY_THREAD_SANITIZER 1
#else
#define MOTLEY_THREAD_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || MOTLEY_HAS_FEATURE(address_sanitizer)
#define MOTLEY_ADDRESS_SANITIZER 1
#else
#define MOTLEY_ADDRESS_SANITIZER 0
#endif
