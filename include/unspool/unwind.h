/* SPDX-License-Identifier: MIT */
/* Unwinds any stack on any host: from a target's registers and memory to frames. Stopping threads, reading files and
 * symbolicating are in capture.h, snapshot.h and symbolize.h. */
#ifndef UNSPOOL_UNWIND_H
#define UNSPOOL_UNWIND_H

#include <unspool/base.h>
#include <unspool/registers.h>

USP_BEGIN_DECLS

struct usp_images;

/* Reads memory of the target. `read` copies n bytes from target address `from` to `to` and returns 0. If it cannot
 * read all of them, it returns a negative status, and the contents of `to` are undefined. It may be called with any
 * address and must not crash. usp_unwind calls it on the thread and in the signal context in which it was called
 * itself. */
struct usp_memory {
    int (*read)(void *context, usp_addr from, void *to, size_t n);
    void *context;
};

/* The meaning of a frame's pc. */
enum usp_frame_kind {
    USP_FRAME_KIND_NONE = 0,
    /* The pc itself, never adjusted: frame 0 of a stopped thread; on Linux also a signal trampoline, to whose start the
     * handler returns. */
    USP_FRAME_KIND_INTERRUPTED = 1,
    USP_FRAME_KIND_RETURN_ADDRESS = 2, /* the instruction after a call */
    USP_FRAME_KIND_LINK_REGISTER = 3,  /* a return address that was still in the link register */
    USP_FRAME_KIND_ASYNC_RESUME = 4,   /* where an async function continues, never adjusted: a function's start */
    USP_FRAME_KIND_SIGNAL = 5          /* the pc that a signal interrupted, from the saved context, never adjusted */
};

/* How a frame was found. */
enum usp_frame_method {
    USP_FRAME_METHOD_NONE = 0,
    USP_FRAME_METHOD_CONTEXT = 1,       /* the registers that the walk started with */
    USP_FRAME_METHOD_LINK_REGISTER = 2, /* the instructions show that the link register holds the return address */
    USP_FRAME_METHOD_FRAME_POINTER = 3, /* a frame record */
    USP_FRAME_METHOD_INSTRUCTIONS = 4,  /* the stack effects of the instructions up to the function's return */
    USP_FRAME_METHOD_SIGNAL = 5,        /* the context that a signal trampoline finds on the stack */
    USP_FRAME_METHOD_ASYNC = 6,         /* the chain of Swift async contexts */
    USP_FRAME_METHOD_COMPACT = 7,       /* Mach-O compact unwind */
    USP_FRAME_METHOD_CFI = 8,           /* DWARF call frame information */
    USP_FRAME_METHOD_EHABI = 9,         /* the exception tables of 32-bit ARM */
    USP_FRAME_METHOD_GO = 10,           /* Go's function table */
    /* A return address that a search of the stack found: past memory or registers that are not known, or past generated
     * code whose frames no reader understands. The walk from it reaches the outermost frame. Frames before it can be
     * missing. */
    USP_FRAME_METHOD_SEARCH = 11
};

enum usp_frame_flags {
    USP_FRAME_THUMB = 1 << 0,    /* armv7: the code at pc is Thumb */
    USP_FRAME_EXTENDED = 1 << 1, /* the frame's record is a Swift async one, preceded by a context */
    USP_FRAME_SIGNED = 1 << 2,   /* the return address was signed; the signature was removed */
    /* No call before the return address was confirmed: code there is unreadable, or generated code wrote the address. */
    USP_FRAME_UNVERIFIED = 1 << 3
};

struct usp_frame {
    usp_addr pc; /* without signature and Thumb bit; `kind` states its meaning */
    /* The stack pointer's value before the call that made this frame. In an async caller, the address of its async
     * context. 0: not known. */
    usp_addr cfa;
    usp_addr fp;     /* the frame pointer register in this frame, without the async mark; 0: not known */
    uint32_t kind;   /* enum usp_frame_kind */
    uint32_t method; /* enum usp_frame_method */
    uint32_t flags;  /* enum usp_frame_flags */
    uint32_t reserved[3];
};

/* Returns the address to look up for a frame: its own pc where that is exact, otherwise an address inside the call
 * instruction (arm64, x86: pc − 1; armv7: (pc & ~1) − 1). A return address may belong to the next function, because the
 * call can be the last instruction of its own. Addresses are adjusted nowhere else: print the frame's pc, but look up
 * its call site. Async-signal-safe, thread-safe. */
USP_API usp_addr usp_frame_call_site(uint32_t arch, const struct usp_frame *frame);

/* Why a walk ended. */
enum usp_stop_reason {
    USP_STOP_NONE = 0,           /* the walk has not ended */
    USP_STOP_ROOT = 1,           /* the known outermost frame was reached */
    USP_STOP_FP_ZERO = 2,        /* the frame pointer is 0: the end of a well-formed chain */
    USP_STOP_FP_MISALIGNED = 3,  /* the next record would be misaligned */
    USP_STOP_FP_BACKWARDS = 4,   /* the next record does not lie above this one */
    USP_STOP_FP_OUTSIDE = 5,     /* the next record is outside the stack */
    USP_STOP_UNREADABLE = 6,     /* the next record, or saved context, is unreadable */
    USP_STOP_RA_ZERO = 7,        /* the return address is 0 */
    USP_STOP_RA_NOT_CODE = 8,    /* the return address does not follow a call, or is not executable */
    USP_STOP_NO_RECORD = 9,      /* the code has no frame record here and no other reader found a caller */
    USP_STOP_CAPACITY = 10,      /* the caller's array is full (and no tail was requested) */
    USP_STOP_CYCLE = 11,         /* the chain has a cycle */
    USP_STOP_STEP_LIMIT = 12,    /* options.step_limit was reached */
    USP_STOP_DEADLINE = 13,      /* options.deadline has passed */
    USP_STOP_CORRUPT_TABLE = 14, /* an unwind table contradicts itself and no other reader found a caller */
    USP_STOP_REGISTERS = 15,     /* the registers needed to begin are not known */
    /* The copy of another thread's stack ends before the stack does: the stack's end is not known (a coroutine), or
     * there was not enough memory. The frames are correct, but the last one is not the outermost. As async_stop: the
     * thread resumed before its async contexts were read. */
    USP_STOP_NOT_COPIED = 16,
    /* The thread runs only in the kernel (an io_uring worker): there is no stack. */
    USP_STOP_KERNEL = 17
};

/* Returns a short English phrase for an enum usp_stop_reason. Static lifetime, never NULL. Async-signal-safe. */
USP_API const char *usp_stop_reason_string(uint32_t stop);

enum usp_stack_flags {
    USP_STACK_NO_INSTRUCTIONS = 1 << 0, /* code was unreadable: walked without the first-frame rule */
    USP_STACK_EXTENDED = 1 << 1,        /* the stack has a Swift async record, at `extended` */
    USP_STACK_TASK_ID = 1 << 2,         /* `task_id` is valid */
    USP_STACK_ASYNC_BROKEN = 1 << 3,    /* the async chain ended at a cycle or an unreadable context (async_stop) */
    /* An unwind table contradicts itself or the stack; the walk went on without it. */
    USP_STACK_CORRUPT_TABLE = 1 << 4,
    /* Part of the stack was not copied: `omitted` is the least number of omitted frames. */
    USP_STACK_OMITTED_MORE = 1 << 5
};

#define USP_NO_INDEX UINT32_MAX

/* A walked stack. The caller owns the struct and the frames; the functions that fill it keep no pointer to it.
 *
 *   frames[0 … physical)       the OS stack, innermost first; omitted frames belong between frames[omitted_at − 1] and
 *                              frames[omitted_at]
 *   frames[physical … count)   the Swift async chain, which continues from frames[async_join] */
struct usp_stack {
    struct usp_frame *frames; /* the caller's array */
    uint32_t capacity;        /* number of elements of `frames` */
    uint32_t count;
    uint32_t physical;
    uint32_t omitted_at; /* index; USP_NO_INDEX when no frame was omitted */
    /* Number of omitted OS frames; exact, except that after USP_STOP_CAPACITY 1 means "one or more", and that
     * with USP_STACK_OMITTED_MORE there can be more. */
    uint64_t omitted;
    uint64_t async_omitted; /* number of async frames that did not fit */
    uint32_t arch;          /* enum usp_arch */
    uint32_t stop;          /* enum usp_stop_reason: why the OS stack ended */
    uint32_t async_stop;    /* enum usp_stop_reason: why the async chain ended; USP_STOP_NONE: there is no chain */
    uint32_t flags;         /* enum usp_stack_flags */
    /* Index of the first frame with a Swift async record; USP_NO_INDEX when there is none or the frame was omitted. */
    uint32_t extended;
    uint32_t async_join;   /* index of the frame whose record or code leads to the async chain, USP_NO_INDEX if none */
    uint32_t task_id;      /* the Swift task's id; valid with USP_STACK_TASK_ID */
    int32_t status;        /* the result of usp_unwind */
    usp_addr stop_address; /* where it ended: address of the record, or the return address */
    uint64_t stopped_ns;   /* how long the thread was stopped for this capture; 0: it was not */
    uint64_t hash;         /* for deduplication; see options.images. 0 for an empty stack */
    uint64_t reserved[3];
};

/* Sets the frames and clears the other fields. Async-signal-safe. */
USP_API void usp_stack_init(struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity);

enum usp_os { USP_OS_UNKNOWN = 0, USP_OS_LINUX = 1, USP_OS_DARWIN = 2 };

/* Result of target.image_at for an address. */
struct usp_region {
    usp_addr text_low, text_high; /* the executable range that contains the address */
    uint32_t flags;
    uint32_t reserved;
};

/* A table in the target's memory. */
struct usp_memory_range {
    usp_addr address;
    uint64_t size; /* in bytes; 0: there is no table */
};

/* The unwind tables of one image: result of target.unwind_tables_at. Fields without a value are 0. */
struct usp_unwind_tables {
    usp_addr image;     /* the image's first byte (the Mach-O header), from which compact unwind counts */
    usp_addr text_base; /* base of DW_EH_PE_textrel addresses in .eh_frame */
    usp_addr data_base; /* base of DW_EH_PE_datarel addresses in .eh_frame */
    usp_addr slide;     /* added to the addresses of .debug_frame, which loaders do not relocate */
    uint32_t flags;     /* enum usp_unwind_table_flags */
    uint32_t reserved0;
    struct usp_memory_range eh_frame_hdr; /* the linker's, or one in its format that the caller made */
    /* Mach-O: __eh_frame. Size 0: it begins where eh_frame_hdr says, and extends as far as memory is readable. */
    struct usp_memory_range eh_frame;
    struct usp_memory_range debug_frame;
    /* An index for .debug_frame in the format of .eh_frame_hdr; linkers do not make it. */
    struct usp_memory_range debug_frame_hdr;
    struct usp_memory_range unwind_info; /* Mach-O: __unwind_info */
    struct usp_memory_range exidx;       /* .ARM.exidx */
    struct usp_memory memory;            /* reads the tables, at these addresses; read == NULL: they are read as code */
    struct usp_memory_range function_starts; /* Mach-O: the data of LC_FUNCTION_STARTS, read as code */
    /* Addresses of this process that stay readable for good and include the tables. They are read without memory.read.
     * Size 0: none. */
    struct usp_memory_range direct;
    /* Go's function table (.gopclntab), possibly with data after it, read as code. */
    struct usp_memory_range go_functions;
    usp_addr go_text; /* the loaded address that its functions count from; 0 before Go 1.18 */
    uint64_t reserved[3];
};

enum usp_unwind_table_flags {
    /* The slide also applies to absolute addresses in .eh_frame, since they come from a file. */
    USP_UNWIND_TABLES_AS_LINKED = 1 << 0
};

/* The target of a walk. Filled by usp_target_init, then by the caller; the library does not change it. All fields
 * except arch and memory may stay as usp_target_init sets them. */
struct usp_target {
    uint32_t size;         /* size of this struct in bytes, for older callers; set by usp_target_init */
    uint32_t arch;         /* enum usp_arch */
    uint32_t os;           /* enum usp_os: decides which signal frames are recognized */
    uint32_t address_bits; /* addressable bits of a signed pointer; 0: determined from `os` and known addresses */
    /* Bits of the signature, as NT_ARM_PAC_MASK gives them; 0: determined from address_bits. */
    uint64_t pac_mask;
    struct usp_memory memory; /* stack and data */
    struct usp_memory code;   /* code, if it is read in another way; read == NULL: through `memory` */
    usp_addr stack_low;       /* lowest address of the live stack; 0 in both: not known, readability decides */
    usp_addr stack_high;      /* first address past the live stack */
    /* Optional, may be NULL. Finds the function that contains pc: writes its first address to *start, and the first
     * address past it, or 0, to *end. Returns 0, or a negative status when it is not known. */
    int (*function_start)(void *context, usp_addr pc, usp_addr *start, usp_addr *end);
    /* Optional, may be NULL. Finds the executable region that contains pc: returns 0 and fills *region,
     * USP_ERROR_NOT_FOUND when the address is known not to be code, or another negative status when it is not known. */
    int (*image_at)(void *context, usp_addr pc, struct usp_region *region);
    void *context; /* passed to function_start, image_at and unwind_tables_at */
    /* Return addresses at which a stack ends: in the caller of main, in the thread's start routine. A frame with such
     * a pc is the last one reported. The caller owns the array. */
    const usp_addr *roots;
    uint32_t root_count;
    /* Not 0: a root ends a walk only where no unwind table describes the code at it; else the walk goes on to where the
     * tables say that the stack ends, as in a core, which has no roots. Default 0. */
    uint32_t beyond_roots;
    /* Target address of the word in thread-specific data that points to the current Swift task (pthread slot 103 on
     * Darwin). 0: there is none; only the mark in the frame record decides, and the task id is not known. */
    usp_addr swift_task_slot;
    /* Optional, may be NULL. Gives the unwind tables of the image that contains pc: fills *tables, which was cleared
     * before, and returns 0, or a negative status when there are none. The tables must stay valid until the walk
     * ends. */
    int (*unwind_tables_at)(void *context, usp_addr pc, struct usp_unwind_tables *tables);
    uint64_t reserved[3];
};

/* Sets size and arch and clears the other fields. Async-signal-safe. */
USP_API void usp_target_init(struct usp_target *target, uint32_t arch);

/* The frame readers. Options select the allowed readers and those that are tried before the others. By default they
 * are tried in the library's order. When a reader finds nothing, the next one is tried. */
enum usp_frame_readers {
    USP_READER_SIGNAL = 1 << 0,       /* signal trampolines */
    USP_READER_INSTRUCTIONS = 1 << 1, /* the first-frame rule, and frames without records further out */
    USP_READER_FRAME_RECORD = 1 << 2,
    USP_READER_COMPACT = 1 << 3, /* Mach-O compact unwind */
    USP_READER_CFI = 1 << 4,     /* DWARF call frame information */
    USP_READER_EHABI = 1 << 5,   /* the exception tables of 32-bit ARM */
    USP_READER_GO = 1 << 6,      /* Go's function table */
    USP_READER_TABLES = USP_READER_COMPACT | USP_READER_CFI | USP_READER_EHABI | USP_READER_GO,
    USP_READER_ALL = 0x7fffffff
};

/* Options of a walk. Filled by usp_unwind_options_init, then by the caller. */
struct usp_unwind_options {
    uint32_t size; /* size of this struct in bytes, for older callers; set by usp_unwind_options_init */
    /* When the array is too small, keep this many of the outermost frames and omit the middle. At most capacity − 1.
     * 0: keep only the innermost frames and stop there. Default 0. */
    uint32_t tail;
    uint32_t skip; /* number of innermost frames to leave out; they do not count as omitted. Default 0 */
    /* Nonzero: follow the Swift async chain and append it. On x86_64 Linux, where frame records have no mark, the
     * frames' code shows it. Default 0. */
    uint32_t async;
    uint32_t step_limit; /* maximum number of frames to visit. Default 1,000,000 */
    uint32_t readers;    /* enum usp_frame_readers. Default USP_READER_ALL */
    uint64_t deadline;   /* usp_clock() value at which the walk is given up, in ns; 0: none. Default 0 */
    /* Optional. With it, stack.hash is computed from (build id or UUID, offset) pairs and is stable across runs of the
     * same build. Without it, it is computed from addresses, which is cheaper. Default NULL. */
    const struct usp_images *images;
    /* enum usp_frame_readers: the readers of `readers` that are tried before all others. With USP_READER_FRAME_RECORD,
     * a walk follows frame pointers as far as they lead, and uses tables where they end. If set, rules are neither
     * cached nor taken from the cache (usp_prepare_options.kept_rules). Default 0. */
    uint32_t readers_first;
    uint32_t reserved0;
    /* An address in a function's frame, such as __builtin_frame_address(0) in it. The stack then begins with that
     * function's caller, as in usp_backtrace_from_fp. Frames further in are left out and do not count as omitted. If
     * no frame contains the address, the stack is empty. Default 0: the stack begins with the innermost frame. */
    usp_addr start_fp;
    uint64_t reserved[4];
};

/* Sets size and the defaults. Async-signal-safe. */
USP_API void usp_unwind_options_init(struct usp_unwind_options *options);

/* Returns the time on the monotonic clock of options.deadline, in ns. Async-signal-safe. */
USP_API uint64_t usp_clock(void);

/* Walks a stack.
 *   target     the target of the walk
 *   registers  those of the innermost frame, with an exact (interrupted) pc; pc and either sp or fp are enough
 *   options    NULL for the defaults
 *   stack      the caller's, after usp_stack_init; it always keeps the frames found so far, and stack->stop and
 *              stack->status say why they end
 * Returns USP_OK whenever the walk ended for a known reason (even with an empty stack), USP_ERROR_ARGUMENT when the
 * arguments contradict each other. Allocates nothing and takes no lock. Async-signal-safe if the target's callbacks
 * are. Needs about 13 KB of stack (usp_cursor_step: 11 KB), in addition to the callbacks' need. */
USP_API int usp_unwind(const struct usp_target *target, const struct usp_registers *registers,
                       const struct usp_unwind_options *options, struct usp_stack *stack);

/* A walk in single steps, which gives access to each frame's registers. The caller allocates it; the library owns its
 * contents. Valid as long as the target and what it points to. It may be copied with memcpy to branch a walk. */
struct usp_cursor {
    uint64_t opaque[224];
};

/* Positions the cursor before the first frame. Arguments as for usp_unwind (tail, skip, start_fp, async and images are
 * ignored). Returns USP_OK or USP_ERROR_ARGUMENT. Async-signal-safe as usp_unwind is. */
USP_API int usp_cursor_init(struct usp_cursor *cursor, const struct usp_target *target,
                            const struct usp_registers *registers, const struct usp_unwind_options *options);

/* Steps to the next frame and fills *frame. Returns 1, or 0 when the walk has ended; usp_cursor_stop then says why,
 * and *frame is unchanged. Async-signal-safe as usp_unwind is. */
USP_API int usp_cursor_step(struct usp_cursor *cursor, struct usp_frame *frame);

/* Gives the registers in the last frame of usp_cursor_step; only those marked known are valid. Returns
 * USP_ERROR_ARGUMENT before the first step. Async-signal-safe. */
USP_API int usp_cursor_registers(const struct usp_cursor *cursor, struct usp_registers *registers);

/* Returns why the walk ended (enum usp_stop_reason; USP_STOP_NONE while it goes on). If address is not NULL, it
 * receives where. Async-signal-safe. */
USP_API uint32_t usp_cursor_stop(const struct usp_cursor *cursor, usp_addr *address);

USP_END_DECLS

#endif
