/* SPDX-License-Identifier: MIT */
/* See alternate.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/alternate.h"

#include "arch/backend.h"
#include "lib/base/processor.h"

/* Number of bytes that are searched. The frame that the kernel pushes for a handler is near the stack pointer, because
 * alternate stacks are small. */
#define SEARCHED ((size_t)256 << 10)
/* The smallest size that the kernel accepts for an alternate stack (include/uapi/asm-generic/signal.h, MINSIGSTKSZ). */
#define LEAST_SIZE 2048u
/* No program has a larger alternate stack. Two adjacent words that look like an address and a size by chance usually
 * give a larger size. */
#define MOST_SIZE ((uint64_t)64 << 20)
/* A ucontext begins with uc_flags and uc_link, one word each. Then comes uc_stack: ss_sp, ss_flags, ss_size, each
 * aligned to a word. */
#define STACK_WORDS     2u
#define STACK_SIZE_WORD 2u
#define STACK_T_WORDS   3u

struct view {
    const struct uspi_copied *stack;
    uint32_t arch;
    unsigned word;
};

static struct view view_of(uint32_t arch, const struct uspi_copied *stack) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    struct view v = {stack, arch, b != NULL ? b->word : 0};
    return v;
}

/* Not memcpy: AddressSanitizer checks what memcpy reads. */
USPI_NO_ASAN static uint64_t load(const struct view *v, usp_addr at, unsigned size) {
    const uint8_t *bytes = v->stack->bytes + (size_t)(at - v->stack->from);
    if (size == 8) return *(const volatile uint64_t *)(const void *)bytes;
    return *(const volatile uint32_t *)(const void *)bytes;
}

static uint64_t word(const struct view *v, usp_addr at, unsigned index) {
    return load(v, at + (usp_addr)index * v->word, v->word);
}

/* Whether a sigcontext is that of the outermost signal on the stack that ends at `top`. Its frame ends with the code at
 * `code`. Then its fpstate comes next above the frame, and ends less than 64 bytes below `top` (arch/x86
 * kernel/signal.c get_sigframe, kernel/fpu/signal.c fpu__alloc_mathframe). Its size is that of struct _fpstate_32
 * without extension, or is stated in the bytes that the processor leaves to software (include/uapi/asm/sigcontext.h,
 * _fpx_sw_bytes). */
static bool is_outermost_i386(const struct view *v, usp_addr context, usp_addr code, usp_addr top) {
    usp_addr fpstate = load(v, context + 76, 4), size = 112 + 512;
    if (fpstate <= code || fpstate - code > 64 || fpstate % 4 != 0 || top - fpstate < size) return false;
    if (load(v, fpstate + 112 + 464, 4) == UINT32_C(0x46505853)) size = load(v, fpstate + 112 + 468, 4);
    return size <= top - fpstate && top - fpstate - size < 64;
}

/* Recognises a signal's context on a stack by what the kernel writes there:
 *
 *     with siginfo, all processors   uc_stack: the alternate stack's own address and size (kernel/signal.c
 *                                    __save_altstack)
 *     arm, without siginfo           uc_flags: a magic number (arch/arm/kernel/signal.c setup_frame)
 *     i386, without siginfo          no ucontext: a sigcontext, and 716 bytes after its start the code of a return
 *                                    (arch/x86 include/asm/sigframe.h struct sigframe_ia32, kernel/signal_32.c
 *                                    ia32_setup_frame)
 *
 * Old contents of the stack can look like the last kind, since the kernel leaves gaps in what it writes.
 *
 * Returns the enum usp_thread_state of the data at *context; 0 when there is no context at `at`. */
static uint32_t context_at(const struct view *v, usp_addr at, struct uspi_alternate alternate, usp_addr top,
                           usp_addr *context) {
    const usp_addr from = v->stack->from;
    if (word(v, at, 0) == alternate.low && word(v, at, STACK_SIZE_WORD) == alternate.high - alternate.low) {
        *context = at - (usp_addr)STACK_WORDS * v->word;
        return at - from >= (usp_addr)STACK_WORDS * v->word ? USP_THREAD_STATE_LINUX_UCONTEXT : 0;
    }
    if (v->arch == USP_ARCH_ARMV7 && word(v, at, 0) == UINT32_C(0x5ac3c35a)) {
        *context = at;
        return USP_THREAD_STATE_LINUX_UCONTEXT;
    }
    if (v->arch == USP_ARCH_I386 && word(v, at, 0) == UINT32_C(0x0077b858) && word(v, at, 1) == UINT32_C(0x80cd0000)) {
        *context = at - 716;
        return at - from >= 716 && is_outermost_i386(v, *context, at, top) ? USP_THREAD_STATE_LINUX_SIGCONTEXT : 0;
    }
    return 0;
}

static usp_addr find_interrupted(const struct view *v, struct uspi_alternate alternate) {
    const usp_addr from = v->stack->from, end = from + v->stack->size;
    const usp_addr top = alternate.high < end ? alternate.high : end;
    const unsigned size = STACK_T_WORDS * v->word;
    if (v->word == 0 || top < from || top - from < size) return 0;
    /* The outermost signal's context has the highest address. */
    for (usp_addr at = (top - size) & ~(usp_addr)(v->word - 1); at > from; at -= v->word) {
        struct usp_registers registers;
        usp_addr context;
        uint32_t state = context_at(v, at, alternate, top, &context);
        if (state == 0) continue;
        if (uspi_registers_from_state(&registers, v->arch, state, v->stack->bytes + (size_t)(context - from),
                                      (size_t)(end - context)) != USP_OK) {
            return 0;
        }
        return usp_registers_sp(&registers);
    }
    return 0;
}

usp_addr uspi_alternate_interrupted(uint32_t arch, struct uspi_alternate alternate, const struct uspi_copied *stack) {
    const struct view v = view_of(arch, stack);
    return find_interrupted(&v, alternate);
}

/* If a stack's address and size are found on that stack itself, the kernel wrote them there. */
usp_addr uspi_alternate_search(uint32_t arch, const struct uspi_copied *stack) {
    const struct view v = view_of(arch, stack);
    const size_t size = stack->size < SEARCHED ? stack->size : SEARCHED;
    if (v.word == 0 || size < STACK_T_WORDS * v.word) return 0;
    const usp_addr last = stack->from + size - STACK_T_WORDS * v.word;
    for (usp_addr at = stack->from; at <= last; at += v.word) {
        const usp_addr low = word(&v, at, 0), n = word(&v, at, STACK_SIZE_WORD);
        if (low > at || at - low >= n || n < LEAST_SIZE || n > MOST_SIZE || low + n < low) continue;
        const struct uspi_alternate alternate = {low, low + n};
        const usp_addr sp = find_interrupted(&v, alternate);
        if (sp != 0) return sp;
    }
    return 0;
}

#endif
