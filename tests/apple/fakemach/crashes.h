/* SPDX-License-Identifier: MIT */
/* The crash kit on the scripted kernel: what its tests share. crashes.c has the signals, exceptions.c the exceptions. */
#ifndef TESTS_APPLE_FAKEMACH_CRASHES_H
#define TESTS_APPLE_FAKEMACH_CRASHES_H

#include "tests/apple/fakemach/stacks.h"

/* xnu bsd/sys/signal.h */
enum { ILL = 4, TRAP = 5, ABRT = 6, EMT = 7, FPE = 8, BUS = 10, SEGV = 11, SYS = 12, ALRM = 14, USER_CODE = 0x10001 };

/* The fixture: a process, the library prepared, and a folder for reports. */
void start_crash(void);
void stop_crash(void);

/* The context of signals: the caller, interrupted at its present registers. */
extern struct fake_context crash_context;

int install_kit_with(void (*callback)(void *context, char *text, size_t size));
void install_kit(void);

size_t count_reports(void);
/* Opens the only report. */
struct usp_snapshot *open_report(void);
bool has_note(const struct usp_snapshot *snapshot, uint32_t kind, const char *key, const char *text);

/* Begins anew with the kit installed, and lets a call fail the `at`th time from now. Returns the account of before. */
struct fake_account begin_failing(enum fake_call call, size_t at);

/* Fails unless the crash has left nothing suspended, no right, and has called nothing that a stopped thread could
 * hold. */
void check_calls(const struct fake_account *before, const char *when);

/* Delivers a signal far below the caller's frame: after the signal, whose end of the process only this system survives,
 * the caller is outside of the handler, as after a longjmp. */
bool crash_by_signal(int number, int code, uintptr_t address);

#endif
