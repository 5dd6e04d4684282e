/* SPDX-License-Identifier: MIT */
/* See stacks.h. */
#define _GNU_SOURCE 1
#include "tests/apple/fakemach/stacks.h"

#include "arch/host.h"

#include <check.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The code of this program and of its libraries, which are never unloaded. */
static struct {
    uintptr_t low, high;
} code[32];

static int note_code(struct dl_phdr_info *image, size_t size, void *context) {
    size_t *count = context;
    (void)size;
    for (size_t i = 0; i < image->dlpi_phnum && *count < sizeof code / sizeof code[0]; i++) {
        const ElfW(Phdr) *segment = &image->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_R | PF_X)) != (PF_R | PF_X)) continue;
        code[*count].low = (uintptr_t)(image->dlpi_addr + segment->p_vaddr);
        code[*count].high = code[*count].low + (uintptr_t)segment->p_memsz;
        ++*count;
    }
    return 0;
}

static bool is_code(uintptr_t from, size_t n) {
    static size_t count;
    if (count == 0) dl_iterate_phdr(note_code, &count);
    for (size_t i = 0; i < count; i++) {
        if (from >= code[i].low && from < code[i].high && n <= code[i].high - from) return true;
    }
    return false;
}

/* Reads code without a system call: walks of this program's own stack read it thousands of times in each of the many
 * runs of a scenario. */
bool fake_read_real(uintptr_t from, void *to, size_t n) {
    if (is_code(from, n)) {
        memcpy(to, (const void *)from, n);
        return true;
    }
    struct iovec local = {to, n}, remote = {(void *)from, n};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)n;
}

/* fcntl for the Darwin layer. Its commands have this system's numbers; O_NONBLOCK has another one. */
int fake_fcntl(int fd, int command, ...);
int fake_fcntl(int fd, int command, ...) {
    enum { DARWIN_NONBLOCK = 4, DARWIN_GETLK = 7, DARWIN_SETLK = 8, TYPE_AT = 20 };
    static const int16_t unlocked = 2;
    va_list arguments;
    if (command == DARWIN_SETLK) return 0;
    if (command == DARWIN_GETLK) {
        va_start(arguments, command);
        memcpy(va_arg(arguments, uint8_t *) + TYPE_AT, &unlocked, sizeof unlocked);
        va_end(arguments);
        return 0;
    }
    va_start(arguments, command);
    int value = va_arg(arguments, int);
    va_end(arguments);
    return fcntl(fd, command, command == F_SETFL && value == DARWIN_NONBLOCK ? O_NONBLOCK : value);
}

static struct {
    size_t frames, first;
} layouts[FAKE_THREADS_MAX];

void fill_stack(size_t at) {
    struct fake_thread *t = &fake.threads[at];
    size_t frames = layouts[at].frames, first = layouts[at].first, step = 64;
    t->sp = (uintptr_t)t->stack + t->stack_size - (frames + 2) * step;
    t->fp = t->sp + 32;
    t->pc = CODE(first);
    memset(t->stack, 0, t->stack_size);
    for (size_t i = 0; i < frames; i++) {
        uintptr_t *record = (uintptr_t *)(t->fp + i * step);
        record[0] = i + 1 < frames ? t->fp + (i + 1) * step : 0;
        record[1] = CODE(first + 1 + i);
    }
}

size_t add_thread(uint32_t task, size_t size, size_t frames, size_t first) {
    struct fake_thread t = {.task = task, .stack_size = size, .scribbled_on = true};
    t.stack = aligned_alloc(64, size);
    ck_assert_ptr_nonnull(t.stack);
    ck_assert_uint_gt(size, (frames + 4) * 64);
    snprintf(t.name, sizeof t.name, "thread %zu", fake.thread_count);
    size_t at = fake_add_thread(&t);
    layouts[at].frames = frames;
    layouts[at].first = first;
    fill_stack(at);
    return at;
}

void check_stack(const struct usp_stack *stack, size_t frames, size_t first) {
    ck_assert_int_eq(stack->status, USP_OK);
    ck_assert_uint_eq(stack->count, frames + 1);
    for (size_t i = 0; i < stack->count; i++) ck_assert_uint_eq(stack->frames[i].pc, CODE(first + i));
    ck_assert_uint_eq(stack->stop, USP_STOP_FP_ZERO);
}

uint8_t code_of_stacks[16 * (CODES + 2)];

static void put_code(size_t i, const uint8_t *before, size_t n, const uint8_t *after, size_t m) {
    memcpy((uint8_t *)CODE(i) - n, before, n);
    memcpy((uint8_t *)CODE(i), after, m);
}

static void fill_code(void) {
    /* call; leave; ret. A call of the next instruction would not count as a call: it is a way to learn the pc. */
    static const uint8_t x86_call[] = {0xe8, 16, 0, 0, 0}, x86_return[] = {0xc9, 0xc3};
    /* bl; mov sp, x29; ldp x29, x30, [sp], #16; ret */
    static const uint8_t arm64_call[] = {0x04, 0x00, 0x00, 0x94};
    static const uint8_t arm64_return[] = {0xbf, 0x03, 0x00, 0x91, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
    for (size_t i = 0; i < CODES; i++) {
        if (USPI_HOST_ARCH == USP_ARCH_ARM64) {
            put_code(i, arm64_call, sizeof arm64_call, arm64_return, sizeof arm64_return);
        } else {
            put_code(i, x86_call, sizeof x86_call, x86_return, sizeof x86_return);
        }
    }
}

/* The queue of each thread of this process. */
static uintptr_t queue_places[FIRST_OF_OTHER];

void start(void) {
    usp_shutdown();
    for (size_t i = 0; i < fake.thread_count; i++) free(fake.threads[i].stack);
    fake_reset();
    fill_code();
    add_thread(FAKE_OWN, 8192, FRAMES, 100);
    add_thread(FAKE_OWN, 8192, FRAMES, 200);
    add_thread(FAKE_OWN, 8192, FRAMES, 300);
    add_thread(FAKE_OWN, 8192, FRAMES, 400);
    add_thread(FAKE_OTHER, 8192, FRAMES, 500);
    add_thread(FAKE_OTHER, 8192, FRAMES, 600);
    fake.self = CALLER;
    for (size_t i = 0; i < FIRST_OF_OTHER; i++) {
        queue_places[i] = 0;
        fake.threads[i].queue_at = &queue_places[i];
    }
}

void stop(void) {
    usp_shutdown();
    for (size_t i = 0; i < fake.thread_count; i++) free(fake.threads[i].stack);
    fake_reset();
}

void prepare(void) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    /* Small numbers make the many runs of a scenario fast. */
    options.max_threads = 8;
    options.stack_copy = 4096;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

/* Describes what was not returned; NULL: everything was. */
static const char *what_is_left(const struct fake_account *before) {
    const struct fake_account *a = &fake_account;
    if (a->suspended != 0) return "a thread is still suspended";
    if (a->other_suspended != 0) return "another task is still suspended";
    for (size_t i = 0; i < fake.thread_count; i++) {
        if (fake.threads[i].suspended != 0) return "a thread of another task is still suspended";
    }
    /* A call that was made to fail did not restore the mask. */
    if (a->signals_wait && fake.fail_call != FAKE_SIGMASK) return "the caller's signals still wait";
    if (a->cancellation_waits) return "the caller's cancellation still waits";
    if (a->rights != before->rights) return "a right is left";
    if (a->mappings != before->mappings) return "a mapping is left";
    if (a->allocations != before->allocations) return "an allocation is left";
    if (a->errors != 0) return "something was given back twice, or a running thread's state was asked for";
    if (a->forbidden != 0) return fake_call_names[a->forbidden_call];
    return NULL;
}

void check_clean(const struct fake_account *before, const char *when) {
    const char *left = what_is_left(before);
    if (left != NULL) ck_abort_msg("%s: %s", when, left);
}

struct usp_thread thread_at(size_t i) { return (struct usp_thread){fake.threads[i].id, fake_port(i)}; }

int capture_thread(size_t i, struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity) {
    struct usp_thread t = thread_at(i);
    usp_stack_init(stack, frames, capacity);
    return usp_capture_thread(&t, NULL, stack);
}
