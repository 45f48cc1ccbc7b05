// SPDX-License-Identifier: Apache-2.0
// The sanitizer of this translation unit: MOTLEY_THREAD_SANITIZER and MOTLEY_ADDRESS_SANITIZER are
// 1 or 0. GCC defines macros of its own; clang uses __has_feature, which GCC 12 does not know.
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
