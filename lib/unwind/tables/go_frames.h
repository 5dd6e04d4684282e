/* SPDX-License-Identifier: MIT */
/* Go's function table as an unwind table: for each instruction of a function it has how far sp is below its value at the
 * function's start (`delta`), and Go's compiler and assembler make frames of one shape. On arm the prologue moves sp down by
 * `frame`, the first delta that is not 0, and stores the link register there, and x29 below it. Assembly may move sp further.
 *
 *     x86       CFA = sp + delta + w      ra = [CFA - w]                                     rbp' = [CFA - 16]
 *     arm64     CFA = sp + delta          ra = delta == 0 ? lr : [CFA - frame]               x29' = [CFA - frame - 8]
 *     arm       CFA = sp + delta          ra = delta == 0 ? lr : [CFA - frame]
 *
 *          x86                            arm64, arm
 *          +----------------+ <- CFA      +----------------+ <- CFA
 *          | return address |             | locals         |
 *          | caller's rbp   | <- rbp      |                |
 *          | locals         |             | lr             | <- sp
 *          +----------------+ <- sp       | caller's x29   | <- x29, below sp
 *
 * The caller's frame pointer lies there as long as the frame pointer points there: otherwise the prologue has not stored it
 * yet, the epilogue has restored it, or the function keeps none; then it is in the register. On i386 and arm nothing is known
 * of it. Go's functions keep no other register for their callers.
 *
 * Where a fault or a preemption made a call that is not in the code, the caller is an interrupted frame. The signal handler put
 * its link register above the frame of the function that it made it call (`pushed` is 16 on arm64, 4 on arm):
 *
 *     x86       as above
 *     arm       CFA = sp + delta + pushed      lr' = [CFA - pushed]      ra and x29' as from the CFA above, which is lower
 *
 * Sources: Go's src/runtime/traceback.go (how frames follow each other), src/cmd/internal/obj/{x86/obj6,arm64/obj7,arm/obj5}.go
 * (preprocess: prologues and epilogues), src/runtime/signal_{amd64,386,arm64,arm}.go (preparePanic, pushCall),
 * src/runtime/proc.go (newproc1), src/internal/abi/symtab.go (FuncFlag). */
#ifndef USPI_GO_FRAMES_H
#define USPI_GO_FRAMES_H

#include "lib/object/gopclntab.h"
#include "lib/unwind/tables/table.h"

/* What the table says of the code at pc (of a caller: of the call).
 *   exact   the frame stands at pc. In functions that write to sp in other ways (they change stacks) the table is not to be
 *           believed; a frame that waits behind the call of one of them, runtime.cgocallback, is as it says
 *   entry   written completely; where the rule has fp, it is as long as fp points there
 *   is_top  Go's stacks end in this function; C may have called it, or a kernel as a signal's handler
 * USPI_CANNOT_UNWIND: of such functions, and behind a call that was made without a frame; no other table knows more. Thread-safe; as async-signal-safe as the source of the
 * bytes is. Looks at no more than 16,384 runs. */
enum uspi_described uspi_go_describe(const struct uspi_go_table *table, const struct uspi_backend *backend, usp_addr pc,
                                     bool exact, struct uspi_table_entry *entry, bool *is_top);

/* Whether a return address is the one with which the scheduler begins a goroutine: behind the first instruction,
 * which is no call, of runtime.goexit. */
bool uspi_go_ends_goroutine(const struct uspi_go_table *table, usp_addr return_address);

/* Whether it is in runtime.clone, which calls the first function of a thread and has no caller itself. */
bool uspi_go_begins_thread(const struct uspi_go_table *table, usp_addr return_address);

#endif
