/* SPDX-License-Identifier: MIT */
/* The actions of `unspool store`, one function each. argv[0] is the action's word. Each returns an enum exit_status. */
#ifndef TOOLS_STORE_H
#define TOOLS_STORE_H

#include <stdio.h>

int store_run_add(int argc, char **argv); /* in index.c */
int store_run_list(int argc, char **argv);
int store_run_prune(int argc, char **argv);
int store_run_verify(int argc, char **argv);

void store_usage(FILE *out);

/* After a message on wrong usage: prints where the help is. Returns EXIT_USAGE. */
int store_refuse_usage(void);

/* Returns the store at argv[first], otherwise the default one; the caller frees it. NULL after a complaint. */
char *store_take_operand(int argc, char **argv, int first);

#endif
