/* SPDX-License-Identifier: MIT */
/* What ended a process, in words: for cores and for crash reports. */
#ifndef USPI_COREFILE_CRASH_H
#define USPI_COREFILE_CRASH_H

#include <unspool/images.h>

struct uspi_crash_facts {
    uint32_t os; /* enum usp_os */
    uint32_t signal;
    int32_t code; /* si_code */
    bool has_code, has_address;
    bool is_mapped;       /* something was mapped at the fault address */
    uint32_t access;      /* of that mapping: USPI_CORE_READ … (lib/corefile/memory.h) */
    const char *unmapped; /* what to say about any other address */
    usp_addr fault_address;
    usp_addr sp;                     /* the crashed thread's stack pointer; 0 unknown */
    uint64_t stack_of;               /* the thread whose stack contains the fault address; 0: none */
    const struct usp_images *images; /* may be NULL */
    uint64_t sender;                 /* the process that sent the signal; 0: none, or not known */
    int64_t pid;
};

/* Returns a malloc'ed sentence; NULL when memory is exhausted. */
char *uspi_crash_in_words(const struct uspi_crash_facts *facts);

#endif
