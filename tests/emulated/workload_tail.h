/* SPDX-License-Identifier: MIT */
/* Declarations that workload_tail.c and workload_tail_2.c share. */
#ifndef TESTS_EMULATED_WORKLOAD_TAIL_H
#define TESTS_EMULATED_WORKLOAD_TAIL_H

#include "workload.h"

extern volatile unsigned sink;

unsigned last(unsigned a, unsigned b);
unsigned here_1(unsigned a, unsigned b);
unsigned here_2(unsigned a, unsigned b);
unsigned there_1(unsigned a, unsigned b);
unsigned there_2(unsigned a, unsigned b);
unsigned there_3(unsigned a, unsigned b);
unsigned there_4(unsigned a, unsigned b);

#endif
