/* SPDX-License-Identifier: MIT */
/* Whether a sanitizer with a memory and an allocator of its own is compiled in: USP_SANITIZED is 1 or 0. */
#ifndef TESTS_SUPPORT_SANITIZED_H
#define TESTS_SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define USP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define USP_SANITIZED 1
#endif
#endif
#ifndef USP_SANITIZED
#define USP_SANITIZED 0
#endif

#endif
