/* SPDX-License-Identifier: MIT */
/* Uses Go's function table as an unwind table. For each instruction of a function it states how far sp is below its
 * value at the function's start (`delta`). The frames of Go's compiler and assembler all have one shape. On arm the
 * prologue moves sp down by `frame`, the first delta that is not 0, and stores the link register there, and x29 below
 * it. Assembly code may move sp further.
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
 * The caller's frame pointer is in that slot as long as the frame pointer points to it. Otherwise it is still or again
 * in the register: the prologue has not stored it yet, the epilogue has restored it, or the function does not save it.
 * On i386 and arm the caller's frame pointer is not known. Go's functions preserve no other registers.
 *
 * When a fault or a preemption inserted a call that is not in the code, the caller is an interrupted frame. The signal
 * handler stored the interrupted function's link register above the frame of the function that it inserted the call
 * of (`pushed` is 16 on arm64, 4 on arm):
 *
 *     x86       as above
 *     arm       CFA = sp + delta + pushed      lr' = [CFA - pushed]      ra, x29' from the lower CFA above
 *
 * A function that switches stacks has made its frame on the goroutine's stack, and calls on the thread's scheduling
 * stack (g0). sp has there nothing to do with the frame. asmcgocall, which calls C code, keeps the frame's place on g0's
 * stack, as its distance from the end of the goroutine's stack, because that stack may be moved. The others keep the
 * frame pointer, which points to the frame's record. mcall keeps nothing: the goroutine may already run on another
 * thread.
 *
 * Sources: Go's src/runtime/asm_{amd64,386,arm64,arm}.s (asmcgocall, systemstack, mcall),
 * src/runtime/sys_linux_{amd64,arm64}.s (nanotime1, walltime), src/runtime/traceback.go (how frames follow each other),
 * src/cmd/internal/obj/{x86/obj6,arm64/obj7,arm/obj5}.go (preprocess: prologues and epilogues),
 * src/runtime/signal_{amd64,386,arm64,arm}.go (preparePanic, pushCall), src/runtime/proc.go (newproc1),
 * src/internal/abi/symtab.go (FuncFlag). */
#ifndef USPI_UNWIND_TABLES_GO_FRAMES_H
#define USPI_UNWIND_TABLES_GO_FRAMES_H

#include "lib/object/gopclntab.h"
#include "lib/unwind/tables/table.h"

/* Looks up the code at pc (for a caller: of the call). Reads at most 16,384 runs.
 *   exact   the frame was interrupted at pc. The table is not valid in functions that write to sp in other ways (they
 *           switch stacks). It is valid for a frame that waits after a call of such a function, runtime.cgocallback
 *   entry   written completely; a location of fp in the rule is valid only while fp points there. Of code that is not
 *           described, only the bounds may be known
 *   is_top  Go's stacks end in this function. C may have called it, or a kernel as a signal handler
 * Returns USPI_CANNOT_UNWIND in functions that switch stacks, and after a call that was made without a frame; no other
 * table describes these. Thread-safe; async-signal-safe if the source of the bytes is. */
enum uspi_described uspi_go_describe(const struct uspi_go_table *table, const struct uspi_backend *backend, usp_addr pc,
                                     bool exact, struct uspi_table_entry *entry, bool *is_top);

/* How a function that has switched stacks leads to its caller. */
enum uspi_go_way {
    USPI_GO_NOWHERE,  /* it does not switch in a known way, or leaves no sign of its frame */
    USPI_GO_ENDS,     /* its caller does not wait for it: the stack ends */
    USPI_GO_BY_WORDS, /* two words above sp give the frame's place */
    USPI_GO_BY_RECORD /* the frame pointer points to the frame's record */
};

/* A frame that waits after a call in such a function. Its place is what sp was after the prologue. */
struct uspi_go_switch {
    enum uspi_go_way way;
    int32_t cfa;    /* offset of the CFA from the place */
    int32_t record; /* offset of the frame's record from the place */
    /* BY_WORDS: places of two words, as offsets from sp; asmcgocall of older versions has others. `depth` is how far
     * the frame's place is below the end of the goroutine's stack, which the second word of its g holds. If the word `g`
     * is 0, there was no goroutine, and `depth` is the place itself. */
    unsigned word_count;
    struct {
        uint8_t depth, g;
    } words[2];
};

/* Describes a frame that waits after a call in a function that writes to sp. *entry gets the function's bounds and,
 * unless the way is USPI_GO_NOWHERE, a rule whose CFA is USPI_GIVEN, without its value. Thread-safe like
 * uspi_go_describe. */
struct uspi_go_switch uspi_go_describe_switch(const struct uspi_go_table *table, const struct uspi_backend *backend,
                                              usp_addr pc, struct uspi_table_entry *entry);

/* Returns whether a return address is the one with which the scheduler begins a goroutine: after the first instruction
 * of runtime.goexit, which is not a call. */
bool uspi_go_ends_goroutine(const struct uspi_go_table *table, usp_addr return_address);

/* Returns whether it is in runtime.clone, which calls a thread's first function and has no caller. */
bool uspi_go_begins_thread(const struct uspi_go_table *table, usp_addr return_address);

#endif
