/* SPDX-License-Identifier: MIT */
/* Tests snapshots of other processes: their stacks at one moment, whatever state they are in, and that no snapshot
 * leaves a trace in them. */
#define _GNU_SOURCE 1
#include "arch/backend.h"
#include "lib/base/context_table.h"
#include "lib/os/linux/calls.h"
#include "tests/support/compilers.h"
#include "tests/support/libc.h"
#include "tests/support/linux_asleep.h"
#include "tests/support/linux_child.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#include <sys/mman.h>
#include <sys/syscall.h>

static const struct timespec moment = {0, 1000000};

static struct usp_snapshot *snapshot_of(const struct child *c) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char error[512];
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    int status = usp_snapshot_create_process(c->pid, &options, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    ck_assert_str_eq(error, "");
    return snapshot;
}

/* Expects the child's threads in their functions. roots: the child uses this process's libc, so that the ends of its
 * stacks are known. */
static void expect_threads(const struct child *c, const struct usp_snapshot *snapshot, unsigned workers, bool roots) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->thread_count, workers + 1);
    ck_assert_uint_eq(info->missed, 0);
    ck_assert_uint_gt(info->stopped_ns, 0);
    ck_assert_int_eq(info->pid, c->pid);
    for (uint32_t i = 0; i < info->thread_count; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        ck_assert_int_eq(t->status, USP_OK);
        ck_assert_uint_eq(t->info.flags, i == 0 ? USP_THREAD_MAIN : 0);
        ck_assert(t->stopped_ns > 0 && t->stopped_ns <= info->stopped_ns);
        ck_assert_uint_eq(t->stack.stopped_ns, t->stopped_ns);
        bool spins = strcmp(t->info.name, "worker 0") == 0;
        unsigned n = count_frames(&t->stack, c->low, c->high);
        /* libc's sleep keeps no frame records; by its instructions its caller must be found all the same. */
        if (n != TARGET_DEPTH + 1) show_stack(&t->stack);
        ck_assert_uint_eq(n, TARGET_DEPTH + 1);
        if (roots) ck_assert_uint_eq(t->stack.stop, USP_STOP_ROOT);
        if (spins) ck_assert_uint_eq(t->info.run_state, 'R');
        ck_assert(usp_registers_sp(&t->registers) >= t->stack_low && usp_registers_sp(&t->registers) < t->stack_high);
    }
}

START_TEST(a_child_is_captured_and_runs_on) {
    struct child c = start_child(TARGET, "", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    expect_threads(&c, snapshot, TARGET_THREADS, true);
    expect_running(c.pid);
    char *program = realpath(TARGET, NULL);
    ck_assert_str_eq(usp_snapshot_get_info(snapshot)->program, program);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->arch, usp_arch_host());
    unsigned main_images = 0, loaders = 0, kernels = 0, with_id = 0;
    const struct usp_images *images = usp_snapshot_images(snapshot);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        main_images += (image->flags & USP_IMAGE_MAIN) != 0 && strcmp(image->path, program) == 0;
        loaders += (image->flags & USP_IMAGE_LOADER) != 0;
        kernels += (image->flags & USP_IMAGE_KERNEL) != 0;
        with_id += image->build_id_size > 0;
        ck_assert(image->text_low >= image->load_address && image->text_high <= image->end);
        ck_assert_uint_eq(image->arch, usp_arch_host());
    }
    ck_assert_uint_eq(main_images, 1);
    ck_assert_uint_eq(loaders, 1);
    ck_assert_uint_le(kernels, 1);
    ck_assert_uint_ge(with_id, 2);
    const struct usp_image *of_function = usp_images_find(images, c.low);
    ck_assert(of_function != NULL && (of_function->flags & USP_IMAGE_MAIN) != 0);
    free(program);
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

START_TEST(a_walk_of_ones_own_gives_the_same_frames) {
    struct child c = start_child(TARGET, "", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    /* The copied memory must stay readable after the process has ended. */
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    struct usp_target target;
    struct usp_cursor cursor;
    struct usp_frame frame;
    uint32_t n = 0;
    ck_assert_int_eq(usp_snapshot_target(snapshot, 0, &target), USP_OK);
    ck_assert_int_eq(usp_snapshot_target(snapshot, 99, &target), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_target(snapshot, 0, &target), USP_OK);
    ck_assert_int_eq(usp_cursor_init(&cursor, &target, &t->registers, NULL), USP_OK);
    for (; usp_cursor_step(&cursor, &frame) != 0; n++) {
        ck_assert_uint_lt(n, t->stack.count);
        ck_assert_uint_eq(frame.pc, t->stack.frames[n].pc);
    }
    ck_assert_uint_eq(n, t->stack.count);
    end_child(&c);
    uint8_t byte;
    ck_assert_int_eq(target.memory.read(target.memory.context, usp_registers_sp(&t->registers), &byte, 1), USP_OK);
    ck_assert_int_lt(target.code.read(target.code.context, usp_registers_pc(&t->registers), &byte, 1), 0);
    usp_snapshot_free(snapshot);
}
END_TEST

/* The threads of a snapshot share what was found about code, a cursor finds it again: both must give the same
 * frames. */
START_TEST(threads_that_share_code_have_the_frames_of_a_walk_alone) {
    struct child c = start_child(TARGET, "", "40", 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 41);
    for (size_t i = 0; i < 41; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        struct usp_target target;
        struct usp_cursor cursor;
        struct usp_frame frame;
        uint32_t n = 0;
        ck_assert_int_eq(usp_snapshot_target(snapshot, i, &target), USP_OK);
        ck_assert_int_eq(usp_cursor_init(&cursor, &target, &t->registers, NULL), USP_OK);
        for (; usp_cursor_step(&cursor, &frame) != 0; n++) {
            ck_assert_uint_lt(n, t->stack.count);
            ck_assert_mem_eq(&frame, &t->stack.frames[n], sizeof frame);
        }
        ck_assert_uint_gt(n, TARGET_DEPTH);
        ck_assert_uint_eq(n, t->stack.count);
    }
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

START_TEST(one_thread_alone) {
    struct child c = start_child(TARGET, "", NULL, 0);
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot = snapshot_of(&c);
    char error[256];
    uint64_t id = usp_snapshot_get_thread(snapshot, 2)->info.thread.id;
    usp_snapshot_free(snapshot);
    usp_snapshot_options_init(&options);
    options.only_thread = id;
    options.sp_bytes = 256;
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, NULL, 0), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 1);
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    ck_assert_uint_eq(t->info.thread.id, id);
    ck_assert_uint_ge(t->sp_bytes_size, 128);
    usp_snapshot_free(snapshot);
    options.only_thread = 1;
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, error, sizeof error), USP_ERROR_NO_THREAD);
    ck_assert_ptr_nonnull(strstr(error, "no thread 1"));
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

/* Expects every frame record from frame `first` on in the copied memory, readable after the process has ended. */
static void expect_copied(const struct usp_snapshot *snapshot, size_t thread, uint32_t first) {
    const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, thread)->stack;
    struct usp_target target;
    uint8_t byte;
    const usp_addr sp = usp_registers_sp(&usp_snapshot_get_thread(snapshot, thread)->registers);
    ck_assert_int_eq(usp_snapshot_target(snapshot, thread, &target), USP_OK);
    for (uint32_t i = first; i < stack->count; i++) {
        if (stack->frames[i].cfa == 0) continue;
        /* The last frames before those that were left out may end after the innermost 4 MB, which were copied: arm64 has
         * a frame's record at its beginning, so that the next one's suffices to find both. */
        const bool ends_later = stack->frames[i].cfa > sp + (4u << 20) - 256;
        if (stack->omitted != 0 && i < stack->omitted_at && i + 2 >= stack->omitted_at && ends_later) continue;
        const int status = target.memory.read(target.memory.context, stack->frames[i].cfa - 1, &byte, 1);
        ck_assert_msg(status == USP_OK, "frame %u of %u, %llu left out at %u: %d", i, stack->count,
                      (unsigned long long)stack->omitted, stack->omitted_at, status);
    }
}

/* Expects a handler on an alternate stack and the interrupted stack below it to be of the same moment. */
static void expect_interrupted(struct child *c, bool roots) {
    struct usp_snapshot *snapshot = snapshot_of(c);
    expect_threads(c, snapshot, TARGET_THREADS, roots);
    expect_running(c->pid);
    end_child(c);
    for (size_t i = 1; i <= TARGET_THREADS; i++) {
        const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, i)->stack;
        uint32_t at = 0;
        while (at < stack->count && stack->frames[at].kind != USP_FRAME_KIND_SIGNAL) at++;
        ck_assert_uint_ge(stack->count - at, TARGET_DEPTH + 2);
        expect_copied(snapshot, i, at);
    }
    usp_snapshot_free(snapshot);
}

START_TEST(what_a_handler_on_an_alternate_stack_interrupted_is_copied) {
    struct child c = start_child(TARGET, "interrupted", NULL, 0);
    expect_interrupted(&c, true);
}
END_TEST

START_TEST(a_long_stack_is_copied_to_its_end) {
    /* The robust list of another thread shows where its stack ends. */
    if (!LIBC_ROBUST_LISTS) return;
    struct child c = start_child(TARGET, "long", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    expect_threads(&c, snapshot, TARGET_THREADS, true);
    end_child(&c);
    for (size_t i = 1; i <= TARGET_THREADS; i++) {
        const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, i)->stack;
        ck_assert_uint_gt(stack->frames[stack->count - 1].cfa - stack->frames[0].cfa, 12u << 20);
        expect_copied(snapshot, i, 0);
    }
    usp_snapshot_free(snapshot);
}
END_TEST

/* The end of a stack that libc does not know is unknown. Memory that was not copied must not be read later from a
 * thread that runs again. */
START_TEST(what_was_not_copied_of_a_stack_is_not_read_later) {
    if (!LIBC_HAS_COROUTINES) return;
    struct child c = start_child(TARGET, "coroutine", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    for (size_t i = 1; i <= TARGET_THREADS; i++) {
        const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, i)->stack;
        struct usp_target target;
        uint8_t byte;
        ck_assert_uint_eq(count_frames(stack, c.low, c.high), TARGET_DEPTH + 1);
        ck_assert_uint_eq(stack->stop, USP_STOP_NOT_COPIED);
        ck_assert_int_eq(usp_snapshot_target(snapshot, i, &target), USP_OK);
        usp_addr not_copied = usp_registers_sp(&usp_snapshot_get_thread(snapshot, i)->registers) + (10u << 20);
        ck_assert_int_lt(target.memory.read(target.memory.context, not_copied, &byte, 1), 0);
    }
    usp_snapshot_free(snapshot);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(two_hundred_threads_of_a_child) {
    struct child c = start_child(TARGET, "", "200", 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    expect_threads(&c, snapshot, 200, true);
    usp_snapshot_free(snapshot);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(a_child_of_the_32_bit_sibling) {
    char compiler[] = "i686-linux-gnu-gcc", program[] = "/tmp/unspool-target-XXXXXX", command[1024];
    const char *source = getenv("srcdir") != NULL ? getenv("srcdir") : ".";
    if (usp_arch_host() != USP_ARCH_X86_64) return;
    int fd = mkstemp(program);
    ck_assert_int_ge(fd, 0);
    close(fd);
    if (!makes_programs(compiler, "-static", program)) {
        unlink(program);
        leave_out("a 32-bit process", compiler);
        return;
    }
    snprintf(command, sizeof command,
             "%s -O1 -fno-omit-frame-pointer -static -pthread -I%s -o %s %s/tests/snapshot/linux_target.c", compiler,
             source, program, source);
    ck_assert_int_eq(system(command), 0);
    struct child c = start_child(program, "", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->arch, USP_ARCH_I386);
    expect_threads(&c, snapshot, TARGET_THREADS, false);
    const struct usp_image *image = usp_images_find(usp_snapshot_images(snapshot), c.low);
    ck_assert_ptr_nonnull(image);
    ck_assert_uint_eq(image->arch, USP_ARCH_I386);
    ck_assert_uint_ne(image->flags & USP_IMAGE_MAIN, 0);
    usp_snapshot_free(snapshot);
    expect_running(c.pid);
    end_child(&c);
    c = start_child(program, "interrupted", NULL, 0);
    expect_interrupted(&c, false);
    unlink(program);
}
END_TEST

/* ---- states of a process ---- */

START_TEST(a_stopped_process_stays_stopped) {
    struct child c = start_child(TARGET, "", NULL, 0);
    int status;
    char states[64];
    kill(c.pid, SIGSTOP);
    ck_assert_int_eq(waitpid(c.pid, &status, WUNTRACED), c.pid);
    ck_assert(WIFSTOPPED(status));
    for (int i = 0; i < 3; i++) {
        struct usp_snapshot *snapshot = snapshot_of(&c);
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        ck_assert_uint_eq(info->missed, 0);
        for (uint32_t k = 0; k < info->thread_count; k++) {
            const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, k);
            ck_assert_uint_eq(count_frames(&t->stack, c.low, c.high), TARGET_DEPTH + 1);
            ck_assert_uint_eq(t->info.run_state, 'T');
        }
        usp_snapshot_free(snapshot);
        nanosleep(&moment, NULL);
        read_states(c.pid, states, sizeof states);
        for (unsigned wait = 0; wait < PATIENT_LOOKS && strspn(states, "T") != strlen(states); wait++) {
            nanosleep(&moment, NULL);
            read_states(c.pid, states, sizeof states);
        }
        ck_assert_str_eq(states, "TTTT");
    }
    kill(c.pid, SIGCONT);
    ck_assert_int_eq(waitpid(c.pid, &status, WCONTINUED), c.pid);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(a_process_that_blocks_all_signals) {
    struct child c = start_child(TARGET, "block", NULL, 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    expect_threads(&c, snapshot, TARGET_THREADS, true);
    usp_snapshot_free(snapshot);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(threads_come_and_go) {
    struct child c = start_child(TARGET, "restless", NULL, 0);
    unsigned files = count_open_files();
    unsigned stacks = 0;
    for (int i = 0; i < 100; i++) {
        struct usp_snapshot *snapshot = snapshot_of(&c);
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        ck_assert_uint_ge(info->thread_count, TARGET_THREADS + 1);
        unsigned parked = 0;
        for (uint32_t k = 0; k < info->thread_count; k++) {
            const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, k);
            ck_assert_msg(t->status == USP_OK || t->status == USP_ERROR_NO_THREAD || was_asleep(t), "%s",
                          usp_status_string(t->status));
            parked += count_frames(&t->stack, c.low, c.high) == TARGET_DEPTH + 1;
            stacks += t->status == USP_OK;
        }
        ck_assert_uint_eq(parked, TARGET_THREADS);
        usp_snapshot_free(snapshot);
    }
    ck_assert_uint_eq(count_open_files(), files);
    printf("%u stacks of a process whose threads come and go\n", stacks);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(a_thread_that_waits_for_its_vfork_child) {
    struct child c = start_child(TARGET, "vfork", NULL, 0);
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char line[64];
    usp_snapshot_options_init(&options);
    /* Longer than other threads need to stop on a busy machine; the child sleeps for a second. */
    options.timeout = 300 * MS;
    nanosleep(&(struct timespec){0, 200000000}, NULL);
    uint64_t before = usp_clock();
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, NULL, 0), USP_OK);
    ck_assert_uint_lt(usp_clock() - before, patience());
    const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, 0);
    ck_assert_msg(t->status == USP_ERROR_TIMEOUT || t->status == USP_OK, "%s", usp_status_string(t->status));
    if (t->status == USP_ERROR_TIMEOUT) ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 1);
    usp_snapshot_free(snapshot);
    /* The process must not receive the requested stop once it wakes up. */
    ck_assert_ptr_nonnull(fgets(line, sizeof line, c.output));
    ck_assert_str_eq(line, "woken\n");
    nanosleep(&moment, NULL);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(a_main_thread_that_has_ended) {
    struct child c = start_child(TARGET, "leave", NULL, 0);
    char states[64] = "";
    for (unsigned i = 0; i < PATIENT_LOOKS && strchr(states, 'Z') == NULL; i++) {
        nanosleep(&moment, NULL);
        read_states(c.pid, states, sizeof states);
    }
    ck_assert_ptr_nonnull(strchr(states, 'Z'));
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    char error[256];
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    int status = usp_snapshot_create_process(c.pid, &options, &snapshot, error, sizeof error);
    /* /proc/PID/maps and mem belong to the main thread. It has ended, and so they must be read from another thread. */
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    ck_assert_int_eq(usp_snapshot_get_thread(snapshot, 0)->status, USP_ERROR_NO_THREAD);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 1);
    for (uint32_t i = 1; i <= TARGET_THREADS; i++) {
        const struct usp_snapshot_thread *t = usp_snapshot_get_thread(snapshot, i);
        ck_assert_uint_eq(count_frames(&t->stack, c.low, c.high), TARGET_DEPTH + 1);
    }
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* ---- signals that arrive meanwhile ---- */

START_TEST(no_signal_is_lost) {
    struct child c = start_child(TARGET, "count", NULL, 0);
    unsigned long sent = 0, counted = 0;
    for (int i = 0; i < 150; i++) {
        for (int k = 0; k < 5; k++) sent += sigqueue(c.pid, SIGRTMIN + 1, (union sigval){0}) == 0;
        usp_snapshot_free(snapshot_of(&c));
        if (i % 3 == 0) sched_yield();
    }
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(fscanf(c.output, "counted %lu\n", &counted), 1);
    ck_assert_uint_eq(counted, sent);
    ck_assert_uint_gt(sent, 0);
    waitpid(c.pid, NULL, 0);
    fclose(c.output);
}
END_TEST

/* A signal stops a thread before the tracer does: it is pending in the child when the child is interrupted. */
static struct uspi_linux_calls table;
static const struct child *signalled;
static unsigned long signals_sent;

static long trace_after_a_signal(long request, pid_t tid, void *address, void *data) {
    long e = uspi_linux_real.trace(request, tid, address, data);
    if (request == PTRACE_SEIZE && e >= 0) {
        signals_sent += sigqueue(signalled->pid, SIGRTMIN + 1, (union sigval){0}) == 0;
        usleep(2000);
    }
    return e;
}

START_TEST(a_signal_that_stops_a_thread_first_is_not_lost) {
    struct child c = start_child(TARGET, "count", NULL, 0);
    unsigned long counted = 0;
    signalled = &c;
    table = uspi_linux_real;
    table.trace = trace_after_a_signal;
    uspi_linux = &table;
    for (int i = 0; i < 20; i++) usp_snapshot_free(snapshot_of(&c));
    uspi_linux = &uspi_linux_real;
    kill(c.pid, SIGTERM);
    ck_assert_int_eq(fscanf(c.output, "counted %lu\n", &counted), 1);
    ck_assert_uint_eq(signals_sent, 20);
    ck_assert_uint_eq(counted, signals_sent);
    waitpid(c.pid, NULL, 0);
    fclose(c.output);
}
END_TEST

/* ---- images loaded meanwhile ---- */

static bool has_image(const struct usp_snapshot *snapshot, const char *path) {
    const struct usp_images *images = usp_snapshot_images(snapshot);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if (strcmp(usp_images_get(images, i)->path, path) == 0) return true;
    }
    return false;
}

/* Makes the child map an image before its first thread is seized, when its images are already listed. */
static long trace_after_a_load(long request, pid_t tid, void *address, void *data) {
    static bool is_loaded;
    char line[64];
    if (request == PTRACE_SEIZE && !is_loaded) {
        kill(signalled->pid, SIGUSR2);
        is_loaded = fgets(line, sizeof line, signalled->output) != NULL;
    }
    return uspi_linux_real.trace(request, tid, address, data);
}

START_TEST(an_image_that_is_loaded_last_is_known) {
    struct child c = start_child(TARGET, "load", NULL, 0);
    char *program = realpath("/proc/self/exe", NULL);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    ck_assert(!has_image(snapshot, program));
    usp_snapshot_free(snapshot);
    signalled = &c;
    table = uspi_linux_real;
    table.trace = trace_after_a_load;
    uspi_linux = &table;
    snapshot = snapshot_of(&c);
    uspi_linux = &uspi_linux_real;
    ck_assert_msg(has_image(snapshot, program), "%s is not known", program);
    usp_snapshot_free(snapshot);
    free(program);
    end_child(&c);
}
END_TEST

/* ---- what is read of a process ---- */

static unsigned mappings_opened, statuses_opened, headers_read;
static usp_addr header; /* address of the image whose header's reads are counted */

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), n = strlen(end);
    return length >= n && strcmp(text + length - n, end) == 0;
}

static long open_and_count(int directory, const char *path, int flags) {
    if (ends_with(path, "/maps")) mappings_opened++;
    if (ends_with(path, "/status")) statuses_opened++;
    return uspi_linux_real.open(directory, path, flags);
}

static long pread_and_count(int fd, void *to, size_t n, uint64_t offset) {
    if (offset == header) headers_read++;
    return uspi_linux_real.pread(fd, to, n, offset);
}

static bool is_on_stack(const struct usp_stack *stack, const struct usp_images *images, const struct usp_image *image) {
    for (uint32_t i = 0; i < stack->count; i++) {
        if (usp_images_find(images, stack->frames[i].pc) == image) return true;
    }
    return false;
}

/* One snapshot reads the mappings once, for the stacks and for the images, and checks the id once. It reads an image's
 * header to list the image, and again for the unwind tables only if a frame is in it. musl's loader is its libc, in
 * which the child waits: there, as in a static program, no such image is without a frame. */
START_TEST(what_is_known_is_not_read_again) {
    struct child c = start_child(TARGET, "", NULL, 0);
    usp_addr loader = 0, main = 0;
    struct usp_snapshot *snapshot = snapshot_of(&c);
    const struct usp_images *images = usp_snapshot_images(snapshot);
    const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, 0)->stack;
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const struct usp_image *image = usp_images_get(images, i);
        const bool has_a_frame = is_on_stack(stack, images, image);
        if ((image->flags & USP_IMAGE_LOADER) != 0 && !has_a_frame) loader = image->load_address;
        if ((image->flags & USP_IMAGE_MAIN) != 0 && has_a_frame) main = image->load_address;
    }
    ck_assert_uint_ne(main, 0);
    usp_snapshot_free(snapshot);
    table = uspi_linux_real;
    table.open = open_and_count;
    table.pread = pread_and_count;
    uspi_linux = &table;
    header = loader;
    usp_snapshot_free(snapshot_of(&c));
    ck_assert_uint_eq(mappings_opened, 1);
    ck_assert_uint_eq(statuses_opened, 1);
    if (loader != 0) ck_assert_uint_eq(headers_read, 1);
    header = main;
    headers_read = 0;
    usp_snapshot_free(snapshot_of(&c));
    ck_assert_uint_eq(headers_read, 2);
    uspi_linux = &uspi_linux_real;
    end_child(&c);
}
END_TEST

/* ---- one moment ---- */

static _Atomic(unsigned) copies, too_early;

static long copy_and_look(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t remote_count) {
    char states[512];
    if (pid == signalled->pid) {
        read_states(pid, states, sizeof states);
        atomic_fetch_add(&copies, 1);
        if (strspn(states, "t") != strlen(states) || strlen(states) != 201) atomic_fetch_add(&too_early, 1);
    }
    return uspi_linux_real.read_process(pid, local, remote, remote_count);
}

START_TEST(everybody_stands_while_stacks_are_copied) {
    struct child c = start_child(TARGET, "", "200", 0);
    signalled = &c;
    table = uspi_linux_real;
    table.read_process = copy_and_look;
    uspi_linux = &table;
    usp_snapshot_free(snapshot_of(&c));
    uspi_linux = &uspi_linux_real;
    /* One call copies about thirty stacks. */
    ck_assert_uint_ge(atomic_load(&copies), 6);
    ck_assert_uint_eq(atomic_load(&too_early), 0);
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

/* How often the stop of the first thread is not seen. Below eight, so that nobody asks whether it has ended. */
enum { UNSEEN = 5 };
static _Atomic(unsigned) unseen;
static _Atomic(bool) is_slack_set, is_slack_late;

static long hide_a_stop(long request, pid_t tid, void *address, void *data) {
    if (request == PTRACE_SEIZE && !atomic_load(&is_slack_set)) atomic_store(&is_slack_late, true);
    if (request == PTRACE_GETREGSET && tid == signalled->pid && atomic_fetch_add(&unseen, 1) < UNSEEN) return -ESRCH;
    return uspi_linux_real.trace(request, tid, address, data);
}

static long note_slack(uint64_t ns) {
    atomic_store(&is_slack_set, ns <= 1000);
    return uspi_linux_real.set_timer_slack(ns);
}

/* A thread was said to be stopped while it still ran and all waited for it. That does not count. While they wait, the
 * tracer's sleeps of 20, 40, 80 … µs may not last 50 µs longer, as they usually do. */
START_TEST(a_thread_that_stops_late_was_not_stopped_before) {
    struct child c = start_child(TARGET, "", "3", 0);
    signalled = &c;
    table = uspi_linux_real;
    table.trace = hide_a_stop;
    table.set_timer_slack = note_slack;
    uspi_linux = &table;
    struct usp_snapshot *snapshot = snapshot_of(&c);
    uspi_linux = &uspi_linux_real;
    const struct usp_snapshot_thread *late = usp_snapshot_get_thread(snapshot, 0);
    ck_assert_uint_eq(late->info.thread.id, (uint64_t)c.pid);
    ck_assert_int_eq(late->status, USP_OK);
    ck_assert_uint_gt(late->stopped_ns, 0);
    /* It was seen running after four sleeps. */
    ck_assert_uint_ge(usp_snapshot_get_info(snapshot)->stopped_ns - late->stopped_ns, (20 + 40 + 80 + 160) * 1000);
    ck_assert(atomic_load(&is_slack_set) && !atomic_load(&is_slack_late));
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* ---- Swift's async contexts ---- */

static usp_addr refused; /* the address that cannot be read; 1: no read of a context's size succeeds */

static long refuse_contexts(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t remote_count) {
    size_t n = 0;
    if (refused == 1 && remote[0].iov_len == USPI_CONTEXT_SIZE) return -EPERM;
    while (n < remote_count && (usp_addr)(uintptr_t)remote[n].iov_base != refused) n++;
    return n == 0 ? -EFAULT : uspi_linux_real.read_process(pid, local, remote, n);
}

/* Returns whether the first thread's memory has the bytes of a context, after its process has ended. */
static bool has_context(const struct usp_snapshot *snapshot, usp_addr at, uint64_t parent, uint64_t resume) {
    struct usp_target target;
    uint8_t bytes[USPI_CONTEXT_SIZE];
    ck_assert_int_eq(usp_snapshot_target(snapshot, 0, &target), USP_OK);
    if (target.memory.read(target.memory.context, at, bytes, sizeof bytes) != 0) return false;
    ck_assert_uint_eq(uspi_le64(bytes), parent);
    ck_assert_uint_eq(uspi_le64(bytes + 8), resume);
    return true;
}

/* 0: both contexts are copied; 1: contexts are not wanted; 2: one cannot be read, so its parent is unknown; 3: the
 * parent cannot be read; 4: neither can be read. */
START_TEST(contexts_are_copied_with_stacks) {
    /* A sanitizer's frames are so large that the contexts lie too far from the stack's beginning. */
    if (USP_SANITIZED) return;
    struct child c = start_child(TARGET, "contexts", NULL, 0);
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    unsigned long long own, first, second;
    char line[128];
    const struct uspi_backend *host = uspi_backend_find(usp_arch_host());
    const bool are_copied = host->has_async && host->word == 8;
    ck_assert_ptr_nonnull(fgets(line, sizeof line, c.output));
    ck_assert_int_eq(sscanf(line, "contexts %llx %llx %llx", &own, &first, &second), 3);
    const usp_addr refusals[] = {0, 0, own, own + USPI_CONTEXT_SIZE, 1};
    refused = refusals[_i];
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    options.unwind.async = _i == 1 ? 0 : 1;
    table = uspi_linux_real;
    table.read_process = refuse_contexts;
    uspi_linux = &table;
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, NULL, 0), USP_OK);
    uspi_linux = &uspi_linux_real;
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    end_child(&c);
    ck_assert_int_eq(has_context(snapshot, own, own + USPI_CONTEXT_SIZE, first), are_copied && (_i == 0 || _i == 3));
    ck_assert_int_eq(has_context(snapshot, own + USPI_CONTEXT_SIZE, 0, second), are_copied && _i == 0);
    ck_assert_int_eq(has_context(snapshot, own + 2 * USPI_CONTEXT_SIZE, own, own), false);
    usp_snapshot_free(snapshot);
}
END_TEST

/* ---- refusals ---- */

static void expect_refusal(int64_t pid, int expected, const char *text) {
    struct usp_snapshot *snapshot = (struct usp_snapshot *)&snapshot;
    char error[512];
    int status = usp_snapshot_create_process(pid, NULL, &snapshot, error, sizeof error);
    ck_assert_msg(status == expected, "%s: %s", usp_status_string(status), error);
    ck_assert_ptr_null(snapshot);
    ck_assert_msg(strstr(error, text) != NULL, "\"%s\" does not say \"%s\"", error, text);
}

/* The images are refused for the same reason as the snapshot. */
static void expect_no_images(int64_t pid, int expected, const char *text) {
    struct usp_images *images = (struct usp_images *)&images;
    char error[512];
    ck_assert_int_eq(usp_images_create_process(pid, &images, error, sizeof error), expected);
    ck_assert_ptr_null(images);
    ck_assert_msg(strstr(error, text) != NULL, "\"%s\" does not say \"%s\"", error, text);
    ck_assert_int_eq(usp_images_create_process(pid, &images, NULL, 0), expected);
}

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals++;
}

/* Every thread must be untraced as soon as the snapshot returns: its owner may want to trace the process itself. */
START_TEST(no_thread_is_traced_any_more) {
    struct child c = start_child(TARGET, "", "200", 0);
    usp_snapshot_free(snapshot_of(&c));
    char path[64], line[256];
    unsigned seen = 0;
    snprintf(path, sizeof path, "/proc/%d/task", c.pid);
    DIR *threads = opendir(path);
    for (const struct dirent *e; threads != NULL && (e = readdir(threads)) != NULL;) {
        int tracer;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/status", c.pid, e->d_name);
        FILE *status = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
        if (status == NULL) continue;
        while (fgets(line, sizeof line, status) != NULL) {
            if (sscanf(line, "TracerPid: %d", &tracer) != 1) continue;
            ck_assert_int_eq(tracer, 0);
            seen++;
        }
        fclose(status);
    }
    if (threads != NULL) closedir(threads);
    ck_assert_uint_eq(seen, 201);
    end_child(&c);
}
END_TEST

/* The kernel sends the tracer's process a signal for every thread that stops. These signals must not wake the process
 * each time. */
START_TEST(stops_send_one_signal) {
    struct child c = start_child(TARGET, "", "200", 0);
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    ck_assert_int_eq(sigaction(SIGCHLD, &action, NULL), 0);
    struct usp_snapshot *snapshot = snapshot_of(&c);
    expect_threads(&c, snapshot, 200, true);
    ck_assert_int_le(signals, 1);
    usp_snapshot_free(snapshot);
    action.sa_handler = SIG_DFL;
    ck_assert_int_eq(sigaction(SIGCHLD, &action, NULL), 0);
    end_child(&c);
}
END_TEST

/* ---- a process that executes a program meanwhile ---- */

static pid_t executing, first_seized;
static unsigned seizures;

/* Returns a thread's state letter; 0: there is no such thread. */
static char state_of(pid_t pid, pid_t tid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    FILE *f = fopen(path, "r");
    if (f == NULL) return 0;
    const char *end = fgets(text, sizeof text, f) != NULL ? strrchr(text, ')') : NULL;
    fclose(f);
    return end != NULL ? end[2] : 0;
}

/* Waits until an exec has ended the thread that was seized first. */
static void wait_for_the_exec(void) {
    for (int i = 0; i < 5000 && state_of(executing, first_seized) != 'Z'; i++) usleep(1000);
}

/* Lets the third thread of the child execute a program before it is seized. */
static long trace_around_an_exec(long request, pid_t tid, void *address, void *data) {
    if (request == PTRACE_SEIZE && ++seizures == 3) {
        syscall(SYS_tgkill, executing, tid, SIGUSR2);
        wait_for_the_exec();
    }
    if (request == PTRACE_SEIZE && tid != executing && first_seized == 0) first_seized = tid;
    return uspi_linux_real.trace(request, tid, address, data);
}

/* The exec waits for the ended thread, and ptrace for the exec: without a wait for that thread, both would wait forever. */
START_TEST(an_exec_meanwhile_is_completed) {
    struct child c = start_child(TARGET, "execute", "5", 0);
    struct usp_snapshot *snapshot = NULL;
    char line[128] = "";
    executing = c.pid;
    table = uspi_linux_real;
    table.trace = trace_around_an_exec;
    uspi_linux = &table;
    (void)usp_snapshot_create_process(c.pid, NULL, &snapshot, NULL, 0);
    uspi_linux = &uspi_linux_real;
    ck_assert_uint_ge(seizures, 3);
    usp_snapshot_free(snapshot);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, c.output));
    ck_assert_msg(strncmp(line, "ready ", 6) == 0, "the program that was executed says: %s", line);
    expect_running(c.pid);
    snapshot = snapshot_of(&c);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 6);
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* The same of a process that takes a snapshot of itself, by a helper. Shared with the test. */
static struct shared {
    _Atomic(pid_t) helper, executor;
    _Atomic(bool) may_execute;
} *shared;

static void *execute_true(void *context) {
    atomic_store(&shared->executor, (pid_t)syscall(SYS_gettid));
    while (!atomic_load(&shared->may_execute)) usleep(1000);
    execl("/bin/true", "true", (char *)NULL);
    _exit(2);
    return context;
}

static void *wait_for_ever(void *context) {
    for (;;) pause();
    return context;
}

static long trace_around_an_exec_of_own(long request, pid_t tid, void *address, void *data) {
    if (request == PTRACE_SEIZE && first_seized == 0) first_seized = tid;
    if (request == PTRACE_SEIZE && tid == atomic_load(&shared->executor)) {
        atomic_store(&shared->helper, getpid());
        atomic_store(&shared->may_execute, true);
        wait_for_the_exec();
    }
    return uspi_linux_real.trace(request, tid, address, data);
}

static void snapshot_oneself_and_execute(void) {
    pthread_t thread;
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options options;
    executing = getpid();
    for (int i = 0; i < 5; i++) pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_create(&thread, NULL, execute_true, NULL);
    while (atomic_load(&shared->executor) == 0) usleep(1000);
    usp_snapshot_options_init(&options);
    options.means = USP_SNAPSHOT_BY_HELPER;
    table = uspi_linux_real;
    table.trace = trace_around_an_exec_of_own;
    uspi_linux = &table;
    (void)usp_snapshot_create_self(&options, &snapshot);
    _exit(3);
}

START_TEST(an_exec_of_this_process_is_completed) {
    int status;
    pid_t ended = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    const pid_t child = fork();
    if (child == 0) snapshot_oneself_and_execute();
    for (int i = 0; i < 60000 && ended == 0; i++) {
        ended = waitpid(child, &status, WNOHANG);
        usleep(1000);
    }
    if (ended == 0 && atomic_load(&shared->helper) != 0) kill(atomic_load(&shared->helper), SIGKILL);
    if (ended == 0) kill(child, SIGKILL);
    ck_assert_msg(ended == child, "the exec waits for a helper that waits for the exec");
    ck_assert_int_ne(atomic_load(&shared->helper), 0);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x instead of that of true",
                  (unsigned)status);
    munmap(shared, sizeof *shared);
}
END_TEST

START_TEST(no_such_process) {
    struct usp_snapshot *snapshot;
    int status;
    expect_refusal(0x7ffffff0, USP_ERROR_NO_THREAD, "no process");
    expect_refusal(0, USP_ERROR_NO_THREAD, "not a process id");
    expect_refusal(-5, USP_ERROR_NO_THREAD, "not a process id");
    expect_refusal(INT64_MAX, USP_ERROR_NO_THREAD, "not a process id");
    expect_refusal(getpid(), USP_ERROR_ARGUMENT, "usp_snapshot_create_self");
    ck_assert_int_eq(usp_snapshot_create_process(1, NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_create_process(-5, NULL, &snapshot, NULL, 0), USP_ERROR_NO_THREAD);
    expect_no_images(0x7ffffff0, USP_ERROR_NO_THREAD, "there is no process 2147483632");
    expect_no_images(-5, USP_ERROR_NO_THREAD, "-5 is not a process id");
    ck_assert_int_eq(usp_images_create_process(1, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    /* A process that has ended: its parent's wait must still get its exit status. */
    pid_t child = fork();
    if (child == 0) _exit(17);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    expect_refusal(child, USP_ERROR_NO_THREAD, "has ended");
    expect_no_images(child, USP_ERROR_NO_THREAD, "has ended");
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 17);
}
END_TEST

/* Tries in a process without privileges; its exit status says whether every attempt was refused as expected. */
static void refuse_as(unsigned uid, pid_t pid, const char *text) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        struct usp_snapshot *snapshot;
        char error[512];
        if (uid != 0 && (setgid(uid) != 0 || setuid(uid) != 0)) _exit(3);
        if (usp_snapshot_create_process(pid, NULL, &snapshot, error, sizeof error) != USP_ERROR_PERMISSION) _exit(1);
        if (strstr(error, text) == NULL) {
            fprintf(stderr, "\"%s\" does not say \"%s\"\n", error, text);
            _exit(2);
        }
        struct usp_images *images;
        memset(error, 0, sizeof error);
        if (usp_images_create_process(pid, &images, error, sizeof error) != USP_ERROR_PERMISSION) _exit(4);
        _exit(strstr(error, text) != NULL ? 0 : 5);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
}

START_TEST(an_undumpable_process) {
    unsigned uid = geteuid() == 0 ? OTHER_USER : 0;
    /* If other users may not enter the build's folder, they cannot run the program. */
    if (access(TARGET, X_OK) != 0) return;
    struct child c = start_child(TARGET, "undumpable", NULL, uid);
    refuse_as(uid, c.pid, "undumpable");
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(another_users_process) {
    if (geteuid() != 0) return;
    struct child c = start_child(TARGET, "", NULL, 0);
    refuse_as(OTHER_USER, c.pid, "user 65534");
    expect_running(c.pid);
    end_child(&c);
}
END_TEST

START_TEST(a_process_with_a_tracer) {
    struct child c = start_child(TARGET, "", NULL, 0);
    int go[2];
    char byte;
    ck_assert_int_eq(pipe(go), 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        if (ptrace(PTRACE_SEIZE, c.pid, NULL, NULL) != 0) _exit(1);
        if (write(go[1], "x", 1) != 1) _exit(2);
        for (;;) pause();
    }
    ck_assert_int_eq(read(go[0], &byte, 1), 1);
    struct usp_snapshot *snapshot;
    char error[256];
    /* The other threads are not traced: they must be captured, and the traced thread must have its status. */
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, NULL, &snapshot, error, sizeof error), USP_OK);
    ck_assert_int_eq(usp_snapshot_get_thread(snapshot, 0)->status, USP_ERROR_PERMISSION);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 1);
    usp_snapshot_free(snapshot);
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    options.only_thread = (uint64_t)c.pid;
    ck_assert_int_eq(usp_snapshot_create_process(c.pid, &options, &snapshot, error, sizeof error),
                     USP_ERROR_PERMISSION);
    ck_assert_msg(strstr(error, "already traced") != NULL, "%s", error);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    close(go[0]);
    close(go[1]);
    end_child(&c);
}
END_TEST

/* ---- the capturing process dies ---- */

START_TEST(nothing_stays_stopped_when_the_capturer_is_killed) {
    struct child c = start_child(TARGET, "", "20", 0);
    for (int i = 0; i < 25; i++) {
        pid_t capturer = fork();
        if (capturer == 0) {
            for (;;) {
                struct usp_snapshot *snapshot;
                if (usp_snapshot_create_process(c.pid, NULL, &snapshot, NULL, 0) == USP_OK) usp_snapshot_free(snapshot);
            }
        }
        nanosleep(&(struct timespec){0, 3000000 + i * 777777}, NULL);
        kill(capturer, SIGKILL);
        waitpid(capturer, NULL, 0);
        expect_running(c.pid);
    }
    struct usp_snapshot *snapshot = snapshot_of(&c);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    usp_snapshot_free(snapshot);
    end_child(&c);
}
END_TEST

/* ---- systems on which no thread can be stopped ---- */

START_TEST(without_ptrace_it_is_said) {
    struct child c = start_child(TARGET, "", NULL, 0);
    struct usp_images *images;
    if (!can_trace()) expect_refusal(c.pid, USP_ERROR_UNSUPPORTED, "cannot be stopped");
    /* Functions that stop no thread must work. */
    char error[16] = "old";
    ck_assert_int_eq(usp_images_create_process(c.pid, &images, error, sizeof error), USP_OK);
    ck_assert_str_eq(error, "");
    ck_assert_uint_gt(usp_images_count(images), 0);
    usp_images_free(images);
    end_child(&c);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("process");
    tcase_add_test(c, without_ptrace_it_is_said);
    if (can_trace()) {
        tcase_add_loop_test(c, contexts_are_copied_with_stacks, 0, 5);
        add_tests(c, a_child_is_captured_and_runs_on, a_walk_of_ones_own_gives_the_same_frames,
                  threads_that_share_code_have_the_frames_of_a_walk_alone, one_thread_alone,
                  two_hundred_threads_of_a_child, what_a_handler_on_an_alternate_stack_interrupted_is_copied,
                  a_long_stack_is_copied_to_its_end, what_was_not_copied_of_a_stack_is_not_read_later,
                  a_child_of_the_32_bit_sibling, a_stopped_process_stays_stopped, a_process_that_blocks_all_signals,
                  threads_come_and_go, a_thread_that_waits_for_its_vfork_child, a_main_thread_that_has_ended,
                  no_signal_is_lost, a_signal_that_stops_a_thread_first_is_not_lost,
                  an_image_that_is_loaded_last_is_known, what_is_known_is_not_read_again,
                  everybody_stands_while_stacks_are_copied, a_thread_that_stops_late_was_not_stopped_before,
                  no_thread_is_traced_any_more, stops_send_one_signal, an_exec_meanwhile_is_completed,
                  an_exec_of_this_process_is_completed, no_such_process, an_undumpable_process, another_users_process,
                  a_process_with_a_tracer, nothing_stays_stopped_when_the_capturer_is_killed);
    }
    return run_suite("linux_process", c);
}
