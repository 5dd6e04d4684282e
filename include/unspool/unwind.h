/* SPDX-License-Identifier: MIT */
/* Any stack on any host: from a target's registers and memory to frames.
 * Nothing here stops a thread, opens a file or names an address: see capture.h, snapshot.h, symbolize.h. */
#ifndef UNSPOOL_UNWIND_H
#define UNSPOOL_UNWIND_H

#include <unspool/base.h>
#include <unspool/registers.h>

USP_BEGIN_DECLS

struct usp_images;

/* How memory of the target is read. `read` copies n bytes at target address `from` to `to` and returns 0, or copies
 * nothing that matters and returns a negative status: all or nothing. It may be called with any address and must not
 * crash on one. usp_unwind calls it from the thread and in the signal context that called usp_unwind. */
struct usp_memory {
    int (*read)(void *context, usp_addr from, void *to, size_t n);
    void *context;
};

/* What kind of address a frame's pc is. */
enum usp_frame_kind {
    USP_FRAME_KIND_NONE = 0,
    USP_FRAME_KIND_INTERRUPTED = 1,    /* the pc itself: frame 0 of a stopped thread, never adjusted */
    USP_FRAME_KIND_RETURN_ADDRESS = 2, /* the instruction after a call */
    USP_FRAME_KIND_LINK_REGISTER = 3,  /* a return address that was still in the link register */
    USP_FRAME_KIND_ASYNC_RESUME = 4,   /* where an async function continues: a function's beginning, never adjusted */
    USP_FRAME_KIND_SIGNAL = 5          /* the pc that a signal interrupted, from the saved context, never adjusted */
};

/* How a frame was found. */
enum usp_frame_method {
    USP_FRAME_METHOD_NONE = 0,
    USP_FRAME_METHOD_CONTEXT = 1,       /* given: the registers that the walk started with */
    USP_FRAME_METHOD_LINK_REGISTER = 2, /* the instructions showed that the link register holds the caller */
    USP_FRAME_METHOD_FRAME_POINTER = 3, /* a frame record */
    USP_FRAME_METHOD_INSTRUCTIONS = 4,  /* the stack effects of the instructions up to the function's return */
    USP_FRAME_METHOD_SIGNAL = 5,        /* the context that a signal trampoline found on the stack */
    USP_FRAME_METHOD_ASYNC = 6,         /* the chain of Swift async contexts */
    USP_FRAME_METHOD_COMPACT = 7,       /* Mach-O compact unwind */
    USP_FRAME_METHOD_CFI = 8,           /* DWARF call frame information */
    USP_FRAME_METHOD_EHABI = 9,         /* the exception tables of 32-bit ARM */
    USP_FRAME_METHOD_GO = 10            /* Go's function table */
};

enum usp_frame_flags {
    USP_FRAME_THUMB = 1 << 0,     /* armv7: the code at pc is Thumb */
    USP_FRAME_EXTENDED = 1 << 1,  /* the frame's record is a Swift async one (a context stands before it) */
    USP_FRAME_SIGNED = 1 << 2,    /* the return address carried a pointer signature, which was removed */
    USP_FRAME_UNVERIFIED = 1 << 3 /* the code before the return address could not be read, so nothing confirms a call */
};

struct usp_frame {
    usp_addr pc; /* signature and Thumb bit removed; see kind for what it means */
    /* The stack pointer's value before the call that made this frame. Of an async caller: the address of its async context.
     * 0: not known. */
    usp_addr cfa;
    usp_addr fp;     /* the frame pointer register in this frame, async mark removed; 0 where it is not known */
    uint32_t kind;   /* enum usp_frame_kind */
    uint32_t method; /* enum usp_frame_method */
    uint32_t flags;  /* enum usp_frame_flags */
    uint32_t reserved[3];
};

/* The address to look up to name the call: the frame's own pc where it is exact, else one that lies inside the call
 * instruction (arm64, x86: pc − 1; armv7: (pc & ~1) − 1). This is the only place where an address is adjusted.
 * Async-signal-safe, thread-safe. */
USP_API usp_addr usp_frame_call_site(uint32_t arch, const struct usp_frame *frame);

/* Why a walk ended. */
enum usp_stop_reason {
    USP_STOP_NONE = 0,           /* not ended */
    USP_STOP_ROOT = 1,           /* the known outermost frame was reached */
    USP_STOP_FP_ZERO = 2,        /* the frame pointer is 0: the end of a well-formed chain */
    USP_STOP_FP_MISALIGNED = 3,  /* the next record would be misaligned */
    USP_STOP_FP_BACKWARDS = 4,   /* the next record does not lie above this one */
    USP_STOP_FP_OUTSIDE = 5,     /* the next record lies outside the stack */
    USP_STOP_UNREADABLE = 6,     /* the next record could not be read */
    USP_STOP_RA_ZERO = 7,        /* the return address is 0 */
    USP_STOP_RA_NOT_CODE = 8,    /* the return address is known not to follow a call or not to be executable */
    USP_STOP_NO_RECORD = 9,      /* the code keeps no frame record here and nothing else describes it */
    USP_STOP_CAPACITY = 10,      /* the caller's frames are used up (and no tail was wanted) */
    USP_STOP_CYCLE = 11,         /* the chain runs in a circle */
    USP_STOP_STEP_LIMIT = 12,    /* options.step_limit */
    USP_STOP_DEADLINE = 13,      /* options.deadline */
    USP_STOP_CORRUPT_TABLE = 14, /* an unwind table contradicts itself and no other reader could go on */
    USP_STOP_REGISTERS = 15,     /* the registers needed to begin are not known */
    USP_STOP_NOT_COPIED = 16 /* the stack of another thread goes on, but was not copied further: its end is not known (a
                                    coroutine's), or there was no memory for more. The frames are true; the last one is
                                    not the outermost. As async_stop: the thread ran on before its contexts were read */
};

/* A short English phrase for an enum usp_stop_reason. Static lifetime, never NULL. Async-signal-safe. */
USP_API const char *usp_stop_reason_string(uint32_t stop);

enum usp_stack_flags {
    USP_STACK_NO_INSTRUCTIONS = 1 << 0, /* text could not be read: walked without the first-frame rule */
    USP_STACK_EXTENDED = 1 << 1,        /* a Swift async record was met, at `extended` */
    USP_STACK_TASK_ID = 1 << 2,         /* `task_id` is known */
    USP_STACK_ASYNC_BROKEN = 1 << 3,    /* the async chain ended by a cycle or an unreadable context (async_stop) */
    USP_STACK_CORRUPT_TABLE = 1 << 4    /* an unwind table contradicts itself or the stack; without it was gone on */
};

#define USP_NO_INDEX UINT32_MAX

/* A walked stack. The caller owns the frames and the struct; the functions that fill it never keep a pointer to it.
 *
 *   frames[0 … physical)       the OS stack, innermost first; when frames were left out, they belong between
 *                              frames[omitted_at − 1] and frames[omitted_at]
 *   frames[physical … count)   the Swift async chain, which continues from frames[async_join]
 */
struct usp_stack {
    struct usp_frame *frames; /* the caller's */
    uint32_t capacity;        /* in frames */
    uint32_t count;
    uint32_t physical;
    uint32_t omitted_at;    /* index, USP_NO_INDEX when nothing was left out */
    uint64_t omitted;       /* physical frames that were left out; exact, except after USP_STOP_CAPACITY: then 1 means
                               "one or more" */
    uint64_t async_omitted; /* async frames that did not fit */
    uint32_t arch;          /* enum usp_arch */
    uint32_t stop;          /* enum usp_stop_reason: why the OS stack ended */
    uint32_t async_stop;    /* enum usp_stop_reason: why the async chain ended; USP_STOP_NONE where none was followed */
    uint32_t flags;         /* enum usp_stack_flags */
    uint32_t extended;      /* index of the first frame with a Swift async record, USP_NO_INDEX if none was met (or the
                               frame was left out) */
    uint32_t async_join;    /* index of the frame whose record or code leads to the async chain, USP_NO_INDEX if none */
    uint32_t task_id;       /* the Swift task, where USP_STACK_TASK_ID says that it is known */
    int32_t status;         /* USP_OK, or what usp_unwind returned */
    usp_addr stop_address;  /* the address at which it stopped: the record, or the return address */
    uint64_t stopped_ns;    /* how long the thread was held for this capture; 0 where it was not */
    uint64_t hash;          /* for de-duplication; see options.images. 0 for an empty stack */
    uint64_t reserved[3];
};

/* Gives the struct its frames and clears the rest. Async-signal-safe. */
USP_API void usp_stack_init(struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

enum usp_os { USP_OS_UNKNOWN = 0, USP_OS_LINUX = 1, USP_OS_DARWIN = 2 };

/* What target.image_at says about an address. */
struct usp_region {
    usp_addr text_low, text_high; /* the executable range that holds the address */
    uint32_t flags;
    uint32_t reserved;
};

/* A table in the target's memory. */
struct usp_memory_range {
    usp_addr address;
    uint64_t size; /* in bytes; 0: there is none */
};

/* The unwind tables of one image: what target.unwind_tables_at says about an address. All zero but what there is. */
struct usp_unwind_tables {
    usp_addr image;     /* its first byte (the Mach-O header), from which compact unwind counts */
    usp_addr text_base; /* what DW_EH_PE_textrel and */
    usp_addr data_base; /* DW_EH_PE_datarel in .eh_frame count from */
    usp_addr slide;     /* added to the addresses of .debug_frame, which no loader relocates, */
    uint32_t flags;     /* enum usp_unwind_table_flags */
    uint32_t reserved0;
    struct usp_memory_range eh_frame_hdr; /* the linker's, or one in its format made by the caller */
    struct usp_memory_range eh_frame;     /* none: where eh_frame_hdr says, as far as memory goes. Mach-O: __eh_frame */
    struct usp_memory_range debug_frame;
    struct usp_memory_range
        debug_frame_hdr;                 /* to .debug_frame what .eh_frame_hdr is to .eh_frame; no linker makes one */
    struct usp_memory_range unwind_info; /* Mach-O: __unwind_info */
    struct usp_memory_range exidx;       /* .ARM.exidx */
    struct usp_memory memory;            /* how the tables are read, at these addresses; read == NULL: as code is */
    struct usp_memory_range function_starts; /* Mach-O: what LC_FUNCTION_STARTS refers to, read as code is */
    /* Addresses of this process that stay readable for good, among them the tables: read without memory.read. Size
     * 0: none. */
    struct usp_memory_range direct;
    struct usp_memory_range go_functions; /* Go's function table (.gopclntab) or more behind it, read as code is */
    usp_addr go_text;                     /* what its functions count from, where it is loaded; 0 before Go 1.18 */
    uint64_t reserved[3];
};

enum usp_unwind_table_flags {
    USP_UNWIND_TABLES_AS_LINKED = 1 << 0 /* absolute addresses in .eh_frame want the slide too: they come from a file */
};

/* A stack's surroundings. Filled by usp_target_init, then by the caller; not changed by the library.
 * Everything but arch and memory may be left as usp_target_init sets it. */
struct usp_target {
    uint32_t size;            /* of this struct in bytes, for older callers; set by usp_target_init */
    uint32_t arch;            /* enum usp_arch */
    uint32_t os;              /* enum usp_os: which signal frames can be met */
    uint32_t address_bits;    /* addressable bits of a signed pointer; 0: by os and the addresses that are known */
    uint64_t pac_mask;        /* the bits that a signature fills, as NT_ARM_PAC_MASK gives them; 0: by address_bits */
    struct usp_memory memory; /* stack and data */
    struct usp_memory code;   /* text, if read another way; read == NULL: by memory */
    usp_addr stack_low;       /* the live stack's bounds, stack_low inclusive, stack_high exclusive; */
    usp_addr stack_high;      /* both 0: unknown, every read decides */
    /* Optional, may be NULL. The function that holds pc: writes its first address to *start, and to *end the address
     * behind it or 0; returns 0, or a negative status when it is not known. */
    int (*function_start)(void *context, usp_addr pc, usp_addr *start, usp_addr *end);
    /* Optional, may be NULL. The executable region that holds pc: returns 0 and fills *region, USP_ERROR_NOT_FOUND when
     * the address is known not to be code, another negative status when nothing is known of it. */
    int (*image_at)(void *context, usp_addr pc, struct usp_region *region);
    void *context; /* for the two above, and for unwind_tables_at */
    /* Return addresses that end a stack (the one in the caller of main, the one in the thread's start routine): the
     * frame with such a pc is the last one reported. The array is the caller's. */
    const usp_addr *roots;
    uint32_t root_count;
    uint32_t reserved0;
    /* The word in thread-specific data that points to the current Swift task (pthread slot 103 on Darwin), as a target
     * address; 0: there is none, the mark in the frame record alone decides and the task id is absent. */
    usp_addr swift_task_slot;
    /* Optional, may be NULL. The unwind tables of the image that holds pc: fills *tables, which was cleared before, and
     * returns 0, or a negative status when there are none. What it gives must stay until the walk ends. */
    int (*unwind_tables_at)(void *context, usp_addr pc, struct usp_unwind_tables *tables);
    uint64_t reserved[3];
};

/* Sets size and arch and clears the rest. Async-signal-safe. */
USP_API void usp_target_init(struct usp_target *target, uint32_t arch);

/* The frame readers. Options say which may be used, and which are used before the others; otherwise the library weighs what
 * all of them find. */
enum usp_frame_readers {
    USP_READER_SIGNAL = 1 << 0,       /* signal trampolines */
    USP_READER_INSTRUCTIONS = 1 << 1, /* the first-frame rule, and code without records below it */
    USP_READER_FRAME_RECORD = 1 << 2,
    USP_READER_COMPACT = 1 << 3, /* Mach-O compact unwind */
    USP_READER_CFI = 1 << 4,     /* DWARF call frame information */
    USP_READER_EHABI = 1 << 5,   /* the exception tables of 32-bit ARM */
    USP_READER_GO = 1 << 6,      /* Go's function table */
    USP_READER_TABLES = USP_READER_COMPACT | USP_READER_CFI | USP_READER_EHABI | USP_READER_GO,
    USP_READER_ALL = 0x7fffffff
};

/* How to walk. Filled by usp_unwind_options_init, then by the caller. */
struct usp_unwind_options {
    uint32_t size;       /* of this struct in bytes, for older callers; set by usp_unwind_options_init */
    uint32_t tail;       /* when the frames do not suffice, keep so many of the outermost ones and omit the middle;
                            at most capacity − 1; 0: keep the innermost only and stop there. Default 0 */
    uint32_t skip;       /* leave out so many of the innermost frames; they are not counted as omitted. Default 0 */
    uint32_t async;      /* nonzero: follow the Swift async chain and append it; on x86_64 Linux, whose records have
                            no marks, by the code of the frames. Default 0 */
    uint32_t step_limit; /* frames looked at, at most. Default 1,000,000 */
    uint32_t readers;    /* enum usp_frame_readers. Default USP_READER_ALL */
    uint64_t deadline;   /* usp_clock() value at which to give up, in ns; 0: none. Default 0 */
    /* Optional: with it stack.hash is made of (build-id or UUID, offset) pairs and is stable across runs of the same
     * build; without it of the addresses, which is cheaper. Default NULL. */
    const struct usp_images *images;
    /* enum usp_frame_readers: of those in `readers`, the ones that are asked before all others; with it no rules are
     * kept or recalled (usp_prepare_options.kept_rules). Default 0 */
    uint32_t readers_first;
    uint32_t reserved0;
    /* An address in the frame of a function, such as __builtin_frame_address(0) in it: the stack begins with that function's
     * caller, as that of usp_backtrace_from_fp. What lies below is left out and not counted as omitted; where no frame holds the
     * address, so is all. 0: the stack begins with the innermost frame. Default 0 */
    usp_addr start_fp;
    uint64_t reserved[4];
};

/* Sets size and the defaults. Async-signal-safe. */
USP_API void usp_unwind_options_init(struct usp_unwind_options *options);

/* The clock of options.deadline, in ns: monotonic. Async-signal-safe. */
USP_API uint64_t usp_clock(void);

/* Walks a stack.
 *   target     the surroundings
 *   registers  those of the innermost frame, whose pc is exact (interrupted); pc and one of sp and fp suffice
 *   options    NULL for the defaults
 *   stack      the caller's, after usp_stack_init; frames found so far are always kept, with stack->stop and
 *              stack->status saying why they end
 * Returns USP_OK whenever a reason for stopping was found (an empty stack included), USP_ERROR_ARGUMENT when the
 * arguments contradict each other. Allocates nothing and takes no lock; async-signal-safe when target's callbacks are;
 * needs about 13 KB of stack (usp_cursor_step: 11 KB), and what the callbacks need. */
USP_API int usp_unwind(const struct usp_target *target, const struct usp_registers *registers,
                       const struct usp_unwind_options *options, struct usp_stack *stack);

/* A walk in single steps, for those who want each frame's registers. Caller-allocated; the contents are the library's.
 * Valid as long as the target (and what it points to) is. May be copied with memcpy to branch a walk. */
struct usp_cursor {
    uint64_t opaque[192];
};

/* Positions the cursor before the first frame. Arguments as for usp_unwind (tail, skip, start_fp, async and images are not used).
 * Returns USP_OK or USP_ERROR_ARGUMENT. Async-signal-safe as usp_unwind is. */
USP_API int usp_cursor_init(struct usp_cursor *cursor, const struct usp_target *target,
                            const struct usp_registers *registers, const struct usp_unwind_options *options);

/* Steps to the next frame and fills *frame. Returns 1, or 0 when the walk has ended (then usp_cursor_stop says why and
 * *frame is untouched). Async-signal-safe as usp_unwind is. */
USP_API int usp_cursor_step(struct usp_cursor *cursor, struct usp_frame *frame);

/* The registers in the frame that usp_cursor_step gave last; only those marked known are. USP_ERROR_ARGUMENT before the
 * first step. Async-signal-safe. */
USP_API int usp_cursor_registers(const struct usp_cursor *cursor, struct usp_registers *registers);

/* Why the walk ended (enum usp_stop_reason; USP_STOP_NONE while it goes on), and where if address is not NULL.
 * Async-signal-safe. */
USP_API uint32_t usp_cursor_stop(const struct usp_cursor *cursor, usp_addr *address);

USP_END_DECLS

#endif
