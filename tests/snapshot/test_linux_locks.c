/* SPDX-License-Identifier: MIT */
/* Tests which thread a snapshot names as the owner of a lock that another thread waits for: of every kind of lock in
 * another process and in this one, and none where the owner is not known. */
#define _GNU_SOURCE 1
#include "lib/base/lock_wait.h"
#include "tests/support/linux_threads.h"
#include "tests/support/suite.h"
#include "tests/tool/locks.h"

#include <signal.h>

#define LOCKS "tests/tool/locks"

/* A case of tests/tool/locks.h. */
struct lock_case {
    const char *name;
    uint32_t kind;     /* enum usp_lock_kind; USP_LOCK_NONE: no thread waits for a lock with a known owner */
    uint32_t links;    /* length of the circle; 0: "waiter" waits for "owner" */
    uint32_t deadlock; /* of each thread of the circle */
};

static const struct lock_case cases[] = {
    {"normal", USP_LOCK_MUTEX, 0, 0},
    {"recursive", USP_LOCK_MUTEX, 0, 0},
    {"errorcheck", USP_LOCK_MUTEX, 0, 0},
    {"adaptive", USP_LOCK_MUTEX, 0, 0},
    {"inherit", USP_LOCK_MUTEX, 0, 0},
    {"robust", USP_LOCK_MUTEX, 0, 0},
    {"shared", USP_LOCK_MUTEX, 0, 0},
    {"timed", USP_LOCK_MUTEX, 0, 0},
    {"reader", USP_LOCK_READ_WRITE, 0, 0},
    {"writer", USP_LOCK_READ_WRITE, 0, 0},
    {"itself", USP_LOCK_MUTEX, 1, 1},
    {"circle of 2", USP_LOCK_MUTEX, 2, 2},
    {"circle of 5", USP_LOCK_MUTEX, 5, 5},
    {"circle of errorcheck", USP_LOCK_MUTEX, 2, 2},
    {"timed circle", USP_LOCK_MUTEX, 2, 0},
    {"behind a circle", USP_LOCK_MUTEX, 2, 2},
    /* Nothing says which of the readers keeps the writer waiting. */
    {"writer of readers", USP_LOCK_NONE, 0, 0},
    {"condition", USP_LOCK_NONE, 0, 0},
    {"semaphore", USP_LOCK_NONE, 0, 0},
    {"word", USP_LOCK_NONE, 0, 0},
    {"freed", USP_LOCK_NONE, 0, 0},
    {"reused", USP_LOCK_NONE, 0, 0},
    {"ended", USP_LOCK_NONE, 0, 0},
    {"other process", USP_LOCK_NONE, 0, 0},
};

#ifdef __GLIBC__
/* Whether the locks of a case say who holds them. */
static bool has_owner(const struct lock_case *c) { return c->kind != USP_LOCK_NONE; }
#else
/* musl's normal mutexes and its read-write locks do not have the owner's id. */
static bool has_owner(const struct lock_case *c) {
    static const char *const known[] = {"recursive", "errorcheck", "inherit", "robust", "circle of errorcheck"};
    bool found = false;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) found = found || strcmp(c->name, known[i]) == 0;
    return found;
}
#endif

static const struct usp_snapshot_thread *named(const struct usp_snapshot *snapshot, const char *name) {
    const struct usp_snapshot_thread *t;
    for (size_t i = 0; (t = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        if (strcmp(t->info.name, name) == 0) return t;
    }
    return NULL;
}

static void expect_wait(const struct usp_snapshot *snapshot, const struct lock_case *c, const char *waiter,
                        const char *owner, uint32_t deadlock) {
    const struct usp_snapshot_thread *of = named(snapshot, waiter), *by = named(snapshot, owner);
    ck_assert_msg(of != NULL && by != NULL, "%s: no \"%s\", no \"%s\"", c->name, waiter, owner);
    ck_assert_int_eq(of->status, USP_OK);
    ck_assert_msg(of->info.lock_owner == by->info.thread.id, "%s: \"%s\" waits for %llu, not for %llu", c->name, waiter,
                  (unsigned long long)of->info.lock_owner, (unsigned long long)by->info.thread.id);
    ck_assert_uint_eq(of->info.lock_kind, c->kind);
    ck_assert_uint_eq(of->info.deadlock, deadlock);
    ck_assert_uint_ne(of->lock, 0);
}

/* Expects the case's waits in a snapshot, and no others.
 *   knows_timed  waits with a time limit are recognized */
static void expect_case(const struct usp_snapshot *snapshot, const struct lock_case *c, bool knows_timed) {
    const struct usp_snapshot_thread *t;
    uint32_t waits = 0;
    const bool is_known = has_owner(c) && (knows_timed || strncmp(c->name, "timed", 5) != 0);
    if (is_known && c->links == 0) expect_wait(snapshot, c, "waiter", "owner", 0);
    for (uint32_t k = 0; is_known && k < c->links; k++) {
        char waiter[16], owner[16];
        snprintf(waiter, sizeof waiter, "link %u", k);
        snprintf(owner, sizeof owner, "link %u", (k + 1) % c->links);
        expect_wait(snapshot, c, waiter, owner, c->deadlock);
    }
    const bool is_behind = strcmp(c->name, "behind a circle") == 0;
    if (is_known && is_behind) expect_wait(snapshot, c, "waiter", "link 0", 0);
    for (size_t i = 0; (t = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
        waits += t->info.lock_owner != 0;
        if (t->info.lock_owner != 0) continue;
        ck_assert_uint_eq(t->info.lock_kind, USP_LOCK_NONE);
        ck_assert_uint_eq(t->info.deadlock, 0);
        ck_assert_uint_eq(t->lock, 0);
    }
    const uint32_t expected = !is_known ? 0 : c->links == 0 ? 1 : c->links + (is_behind ? 1 : 0);
    if (knows_timed || strncmp(c->name, "timed", 5) != 0) ck_assert_uint_eq(waits, expected);
}

/* The kernel finds that the memory is gone when the call is repeated, and libc then ends the process. */
static bool ends_by_capture(const struct lock_case *c) { return strcmp(c->name, "freed") == 0; }

START_TEST(of_another_process) {
    const struct lock_case *c = &cases[_i];
    int ends[2];
    char line[16];
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    ck_assert_int_eq(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        exec_under((const char *const[]){LOCKS, c->name, NULL});
        _exit(127);
    }
    close(ends[1]);
    FILE *said = fdopen(ends[0], "r");
    ck_assert_ptr_nonnull(fgets(line, sizeof line, said));
    ck_assert_str_eq(line, "ready\n");
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_process(pid, &options, &snapshot, NULL, 0), USP_OK);
    expect_case(snapshot, c, true);
    /* The owner is named only if it is listed. */
    const struct usp_snapshot_thread *waiter = named(snapshot, "waiter");
    options.only_thread = waiter != NULL ? waiter->info.thread.id : (uint64_t)pid;
    usp_snapshot_free(snapshot);
    if (!ends_by_capture(c)) {
        ck_assert_int_eq(usp_snapshot_create_process(pid, &options, &snapshot, NULL, 0), USP_OK);
        ck_assert_uint_eq(usp_snapshot_get_thread(snapshot, 0)->info.lock_owner, 0);
        usp_snapshot_free(snapshot);
    }
    kill(pid, SIGKILL);
    fclose(said);
}
END_TEST

static void expect_in_self(const struct lock_case *c, uint32_t means) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    options.means = means;
    /* An earlier capture may have woken the threads. */
    locks_wait_asleep(locks_tid_count);
    const int status = usp_snapshot_create_self(&options, &snapshot);
    if (status == USP_ERROR_PERMISSION || status == USP_ERROR_UNSUPPORTED) return;
    ck_assert_int_eq(status, USP_OK);
    /* The signal ends waits with a time limit, so that the thread is between two calls. */
    expect_case(snapshot, c, means == USP_SNAPSHOT_BY_HELPER);
    usp_snapshot_free(snapshot);
}

START_TEST(of_this_process) {
    if (ends_by_capture(&cases[_i])) return;
    ck_assert(locks_make(cases[_i].name));
    expect_in_self(&cases[_i], USP_SNAPSHOT_BY_SIGNALS);
    expect_in_self(&cases[_i], USP_SNAPSHOT_BY_HELPER);
    /* The threads still wait. */
    expect_in_self(&cases[_i], USP_SNAPSHOT_BY_SIGNALS);
}
END_TEST

/* ---- a raw capture keeps the owner ---- */

START_TEST(in_a_raw_capture) {
    const struct lock_case *c = &cases[_i];
    char path[] = "/tmp/unspool-locks-XXXXXX", error[256];
    struct usp_raw_capture raw;
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot, *read;
    if (ends_by_capture(c)) return;
    ck_assert(locks_make(c->name));
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    const int fd = mkstemp(path);
    usp_raw_capture_init(&raw);
    raw.snapshot = snapshot;
    ck_assert_int_eq(usp_raw_write(fd, &raw), USP_OK);
    close(fd);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &read, error, sizeof error), USP_OK);
    expect_case(read, c, false);
    unlink(path);
    usp_snapshot_free(read);
    usp_snapshot_free(snapshot);
}
END_TEST

/* ---- memory of other processors, and hostile memory ---- */

/* Memory at BASE, and code at CODE. */
struct made {
    uint32_t words[16];
    uint32_t code;
    unsigned reads;
};

#define BASE 0x10000u
#define CODE 0x40000u

static int read_made(void *context, usp_addr from, void *to, size_t n) {
    struct made *made = context;
    made->reads++;
    if (from >= BASE && from - BASE <= sizeof made->words && n <= sizeof made->words - (from - BASE)) {
        memcpy(to, (const char *)made->words + (from - BASE), n);
        return USP_OK;
    }
    if (from == CODE && n <= 4) {
        memcpy(to, &made->code, n);
        return USP_OK;
    }
    return USP_ERROR_UNREADABLE;
}

/* Two pages of memory at BASE, each byte with its offset, and the code that the context is. */
static int read_pages(void *context, usp_addr from, void *to, size_t n) {
    const uint32_t code = (uint32_t)(uintptr_t)context;
    if (from == CODE && n <= 4) {
        memcpy(to, &code, n);
        return USP_OK;
    }
    if (from < BASE || from + n > BASE + 0x2000) return USP_ERROR_UNREADABLE;
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = (uint8_t)(from + i);
    return USP_OK;
}

/* How each processor passes a futex call of Linux: registers by DWARF number. */
struct processor {
    uint32_t arch;
    unsigned number, arguments[4];
    uint32_t futex, code;
    bool is_32;
};

static const struct processor processors[] = {
    {USP_ARCH_X86_64, 0, {5, 4, 1, 10}, 202, 0x050f, false},  {USP_ARCH_I386, 0, {3, 1, 2, 6}, 240, 0x80cd, true},
    {USP_ARCH_I386, 0, {3, 1, 2, 6}, 422, 0x80cd, true},      {USP_ARCH_ARM64, 8, {0, 1, 2, 3}, 98, 0xd4000001, false},
    {USP_ARCH_ARMV7, 7, {0, 1, 2, 3}, 240, 0xef000000, true}, {USP_ARCH_ARMV7, 7, {0, 1, 2, 3}, 422, 0xbf00df00, true},
};

static void set_register(struct usp_registers *registers, unsigned n, uint64_t value) {
    registers->value[n] = value;
    registers->known |= UINT64_C(1) << n;
}

/* Makes the registers of a thread that is about to call futex for the word at BASE + 16. */
static struct usp_registers futex_call(const struct processor *p, uint32_t operation, uint32_t value) {
    struct usp_registers registers;
    usp_registers_init(&registers, p->arch);
    usp_registers_set_pc(&registers, CODE);
    set_register(&registers, p->number, p->futex);
    set_register(&registers, p->arguments[0], BASE + 16);
    set_register(&registers, p->arguments[1], operation);
    set_register(&registers, p->arguments[2], value);
    set_register(&registers, p->arguments[3], 0);
    return registers;
}

/* The words from the futex word on of glibc's mutex. */
static void make_mutex(struct made *made, const struct processor *p, uint32_t word, uint32_t count, uint32_t owner,
                       uint32_t kind) {
    memset(made, 0, sizeof *made);
    made->code = p->code;
    made->words[4] = word;
    made->words[5] = count;
    made->words[6] = owner;
    made->words[p->is_32 ? 8 : 7] = 1;
    made->words[p->is_32 ? 7 : 8] = kind;
}

static uint32_t owner_of(struct made *made, const struct usp_registers *registers) {
    const struct usp_memory memory = {read_made, made};
    struct uspi_lock_wait wait;
    struct uspi_lock_held held;
    made->reads = 0;
    if (!uspi_lock_wait_read(&wait, USP_OS_LINUX, registers, &memory)) return 0;
    return uspi_lock_wait_owner(&wait, registers->arch, &held) ? (uint32_t)held.owner : 0;
}

START_TEST(on_each_processor) {
    const struct processor *p = &processors[_i];
    struct made made;
    struct usp_registers registers = futex_call(p, 128, 2);
    make_mutex(&made, p, 2, 0, 4711, 0);
    ck_assert_uint_eq(owner_of(&made, &registers), 4711);
    /* Recursive. */
    make_mutex(&made, p, 2, 3, 4711, 1);
    ck_assert_uint_eq(owner_of(&made, &registers), 4711);
    /* Priority inheritance. */
    registers = futex_call(p, 6 | 128, 0);
    make_mutex(&made, p, 0x80001267, 0, 0, 32);
    ck_assert_uint_eq(owner_of(&made, &registers), 0x1267);
    made.words[4] |= 0x40000000;
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    /* Robust. */
    registers = futex_call(p, 0, 0x80001267);
    make_mutex(&made, p, 0x80001267, 1, 0x1267, 16);
    ck_assert_uint_eq(owner_of(&made, &registers), 0x1267);
    made.words[6]++; /* the owner's id is in two places */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    /* musl's errorcheck mutex. */
    make_mutex(&made, p, 0x80001267, 1, 0, 0);
    made.words[3] = 2;
    ck_assert_uint_eq(owner_of(&made, &registers), 0x1267);
    made.words[3] = 0;
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    /* A read-write lock whose readers wait: the word is the third number. */
    registers = futex_call(p, 9 | 128, 3);
    memset(&made, 0, sizeof made);
    made.code = p->code;
    made.words[2] = 3;
    made.words[4] = 3;
    made.words[p->is_32 ? 9 : 8] = 4711;
    ck_assert_uint_eq(owner_of(&made, &registers), 4711);
    made.words[2] = 1;
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
}
END_TEST

/* Each change of a held mutex or of the call leaves no owner. */
START_TEST(no_owner_of_what_differs) {
    const struct processor *p = &processors[_i];
    struct made made;
    struct usp_registers registers = futex_call(p, 128, 2);
    static const struct {
        uint32_t word, count, owner, kind;
    } wrong[] = {{0, 0, 4711, 0},    {1, 0, 4711, 0},   {3, 0, 4711, 0},  {2, 1, 4711, 0},  {2, 0, 0, 0},
                 {2, 0, 4711, 1},    {2, 0, 4711, 4},   {2, 0, 4711, 8},  {2, 0, 4711, 16}, {2, 0, 4711, 32},
                 {2, 0, 4711, 1024}, {2, 0, 4711, ~0u}, {2, ~0u, 4711, 0}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make_mutex(&made, p, wrong[i].word, wrong[i].count, wrong[i].owner, wrong[i].kind);
        ck_assert_msg(owner_of(&made, &registers) == 0, "change %u", i);
    }
    make_mutex(&made, p, 2, 0, 4711, 0);
    made.words[p->is_32 ? 8 : 7] = 0; /* used by no thread */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    make_mutex(&made, p, 2, 0, 4711, 0);
    made.code = 0; /* the pc is not at a system call */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    made.code = p->code;
    registers.value[p->number]++; /* another call */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    ck_assert_uint_eq(made.reads, 0);
    registers = futex_call(p, 128, 0); /* a semaphore */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    ck_assert_uint_eq(made.reads, 0);
    registers = futex_call(p, 1, 2); /* FUTEX_WAKE */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    registers = futex_call(p, 9 | 128, 2); /* another runtime's lock */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    set_register(&registers, p->arguments[3], BASE); /* pthread_mutex_timedlock */
    ck_assert_uint_eq(owner_of(&made, &registers), 4711);
    registers = futex_call(p, 128, 2);
    registers.known &= ~(UINT64_C(1) << p->arguments[0]);
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
    /* Addresses at the ends of the address space. */
    for (int k = 0; k < 3; k++) {
        registers = futex_call(p, 128, 2);
        registers.value[p->arguments[0]] = k == 0 ? 0 : k == 1 ? 4 : UINT64_MAX - 3;
        ck_assert_uint_eq(owner_of(&made, &registers), 0);
    }
    registers = futex_call(p, 128, 2);
    registers.value[p->arguments[0]]++; /* not aligned */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
}
END_TEST

/* A lock at the beginning and at the end of readable memory, which are those of a page. */
START_TEST(at_the_ends_of_memory) {
    const struct processor *p = &processors[_i];
    const struct usp_memory memory = {read_pages, (void *)(uintptr_t)p->code};
    struct uspi_lock_wait wait;
    static const struct {
        uint32_t word;
        bool reads;
        uint8_t before, after;
    } places[] = {{0, true, 0, 32},     {4, true, 4, 32},          {8, true, 8, 32},
                  {12, true, 12, 32},   {0x2000 - 4, true, 12, 4}, {0x2000 - 32, true, 12, 32},
                  {0x2000, false, 0, 0}};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        struct usp_registers registers = futex_call(p, 128, 2);
        registers.value[p->arguments[0]] = BASE + places[i].word;
        ck_assert_int_eq(uspi_lock_wait_read(&wait, USP_OS_LINUX, &registers, &memory), places[i].reads);
        if (!places[i].reads) continue;
        ck_assert_uint_eq(wait.before, places[i].before);
        ck_assert_uint_eq(wait.after, places[i].after);
        for (unsigned k = 0; k < places[i].after; k++) {
            ck_assert_uint_eq(wait.bytes[USPI_LOCK_BEFORE + k], (uint8_t)(places[i].word + k));
        }
        for (unsigned k = 1; k <= places[i].before; k++) {
            ck_assert_uint_eq(wait.bytes[USPI_LOCK_BEFORE - k], (uint8_t)(places[i].word - k));
        }
    }
}
END_TEST

/* Registers from x86's PRSTATUS: the call's number is beside its result. */
START_TEST(interrupted_in_the_call) {
    const struct processor *p = &processors[_i];
    struct made made;
    struct usp_registers registers = futex_call(p, 128, 2);
    make_mutex(&made, p, 2, 0, 4711, 0);
    made.code = 0; /* the pc is past the call */
    registers.system_call = p->futex + 1;
    static const struct {
        int32_t result;
        bool waits;
    } results[] = {{-512, true}, {-513, true}, {-514, true}, {-516, true}, {-515, false},
                   {0, false},   {-4, false},  {-11, false}, {-110, false}};
    for (unsigned i = 0; i < sizeof results / sizeof *results; i++) {
        registers.value[0] = (uint32_t)results[i].result;
        ck_assert_uint_eq(owner_of(&made, &registers), results[i].waits ? 4711 : 0);
    }
    registers.value[0] = (uint32_t)-512;
    registers.system_call = 1; /* read */
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
}
END_TEST

/* ---- Apple systems ---- */

/* How each processor makes the calls of xnu: the pc is past the instruction. */
static const struct processor apple[] = {
    {USP_ARCH_ARM64, 16, {0, 1, 2, 3}, 0, 0xd4001001, false},
    {USP_ARCH_X86_64, 0, {5, 4, 1, 10}, 0x2000000, 0x050f, false},
};
enum { PSYNCH_MUTEXWAIT = 301, PSYNCH_RW_RDLOCK = 306, PSYNCH_RW_WRLOCK = 307, ULOCK_WAIT = 515, ULOCK_WAIT2 = 544 };
#define MUTEX ((uint64_t)BASE + 16)
#define TIMER ((uint64_t)1 << 32) /* ns */

static struct usp_registers apple_call(const struct processor *p, uint32_t number, uint64_t first, uint64_t second,
                                       uint64_t third, uint64_t fourth) {
    const uint64_t arguments[] = {first, second, third, fourth};
    struct usp_registers registers;
    usp_registers_init(&registers, p->arch);
    usp_registers_set_pc(&registers, CODE + (p->code == 0x050f ? 2 : 4));
    set_register(&registers, p->number, p->futex + number);
    for (unsigned i = 0; i < 4; i++) set_register(&registers, p->arguments[i], arguments[i]);
    return registers;
}

/* The owner that a lock names: its id, or for an unfair lock the name of its port. */
static uint64_t apple_owner(struct made *made, const struct usp_registers *registers) {
    const struct usp_memory memory = {read_made, made};
    struct uspi_lock_wait wait;
    struct uspi_lock_held held;
    made->reads = 0;
    if (!uspi_lock_wait_read(&wait, USP_OS_DARWIN, registers, &memory)) return 0;
    const uint32_t port = uspi_lock_wait_port(&wait);
    /* Without the thread of the port there is no owner. */
    ck_assert(port == 0 || !uspi_lock_wait_owner(&wait, registers->arch, &held));
    wait.owner = port;
    return uspi_lock_wait_owner(&wait, registers->arch, &held) ? held.owner : 0;
}

/* libpthread's mutex, held by the thread 0x100004711. */
static void make_apple_mutex(struct made *made, const struct processor *p) {
    memset(made, 0, sizeof *made);
    made->code = p->code;
    made->words[4] = 0x4d55545a;  /* sig, as of a mutex that is initialized statically */
    made->words[7] = 0x2000 | 64; /* options */
    made->words[10] = 0x4711;
    made->words[11] = 1;
}

START_TEST(apple_mutex) {
    const struct processor *p = &apple[_i];
    const struct usp_registers waits = apple_call(p, PSYNCH_MUTEXWAIT, MUTEX, 0x203, 0x100, 0x4711);
    struct made made;
    make_apple_mutex(&made, p);
    ck_assert_uint_eq(apple_owner(&made, &waits), UINT64_C(0x100004711));
    made.words[4] = 0x4d555458; /* initialized by pthread_mutex_init */
    ck_assert_uint_eq(apple_owner(&made, &waits), UINT64_C(0x100004711));
    static const struct {
        unsigned word;
        uint32_t value;
    } wrong[] = {{4, 0} /* destroyed */,
                 {4, 0x52574c4b} /* a read-write lock */,
                 {7, 64} /* no mutex */,
                 {7, 0x6000} /* of ulocks */};
    for (unsigned i = 0; i < ELEMENTS(wrong); i++) {
        make_apple_mutex(&made, p);
        made.words[wrong[i].word] = wrong[i].value;
        ck_assert_msg(apple_owner(&made, &waits) == 0, "an owner in spite of change %u", i);
    }
    make_apple_mutex(&made, p);
    made.words[10] = made.words[11] = 0; /* not held */
    ck_assert_uint_eq(apple_owner(&made, &waits), 0);
    made.words[10] = made.words[11] = UINT32_MAX; /* passes from one thread to another */
    ck_assert_uint_eq(apple_owner(&made, &waits), 0);
}
END_TEST

/* libpthread's read-write lock, held for writing by the thread 0x100004711. */
static void make_apple_rwlock(struct made *made, const struct processor *p) {
    memset(made, 0, sizeof *made);
    made->code = p->code;
    made->words[4] = 0x52574c4b; /* sig */
    made->words[8] = 0x20;       /* rw_flags: of this process alone */
    made->words[9] = 0x52574c4b; /* a copy of sig in unused bytes */
    made->words[10] = 0x4711;
    made->words[11] = 1;
}

START_TEST(apple_read_write_lock) {
    const struct processor *p = &apple[_i];
    const uint32_t number = _i == 0 ? PSYNCH_RW_RDLOCK : PSYNCH_RW_WRLOCK;
    /* L: a writer holds it (E), and a writer waits (W, K). */
    const struct usp_registers waits = apple_call(p, number, MUTEX, 0x387, 0x100, 0x201);
    struct made made;
    const struct usp_memory memory = {read_made, &made};
    struct uspi_lock_wait wait;
    struct uspi_lock_held held;
    make_apple_rwlock(&made, p);
    ck_assert_uint_eq(apple_owner(&made, &waits), UINT64_C(0x100004711));
    ck_assert(uspi_lock_wait_read(&wait, USP_OS_DARWIN, &waits, &memory) && !wait.is_timed);
    ck_assert(uspi_lock_wait_owner(&wait, waits.arch, &held));
    ck_assert_uint_eq(held.kind, USP_LOCK_READ_WRITE);
    ck_assert_uint_eq(held.lock, MUTEX);
    made.words[8] = 0x10; /* shared by processes */
    ck_assert_uint_eq(apple_owner(&made, &waits), UINT64_C(0x100004711));
    static const struct {
        unsigned word;
        uint32_t value;
    } wrong[] = {{4, 0} /* destroyed */, {4, 0x4d555458} /* a mutex */, {8, 0}, {8, 0x30}, {8, 0x2000}};
    for (unsigned i = 0; i < ELEMENTS(wrong); i++) {
        make_apple_rwlock(&made, p);
        made.words[wrong[i].word] = wrong[i].value;
        ck_assert_msg(apple_owner(&made, &waits) == 0, "an owner in spite of change %u", i);
    }
    /* The kernel has passed it on, and does not tell to whom. */
    make_apple_rwlock(&made, p);
    made.words[10] = made.words[11] = 0;
    ck_assert_uint_eq(apple_owner(&made, &waits), 0);
    /* Readers hold it. */
    make_apple_rwlock(&made, p);
    const struct usp_registers of_readers = apple_call(p, PSYNCH_RW_WRLOCK, MUTEX, 0x305, 0x100, 0x201);
    ck_assert_uint_eq(apple_owner(&made, &of_readers), 0);
    ck_assert_uint_eq(made.reads, 0);
    /* Giving it back waits for no thread. */
    const struct usp_registers gives_back = apple_call(p, 308, MUTEX, 0x387, 0x200, 0x201);
    ck_assert_uint_eq(apple_owner(&made, &gives_back), 0);
}
END_TEST

START_TEST(apple_unfair_lock) {
    const struct processor *p = &apple[_i];
    const uint32_t number = _i == 0 ? ULOCK_WAIT : ULOCK_WAIT2;
    /* The flags: no errno, and data that the work queues wait for. The word tells by a bit that threads wait. */
    const struct usp_registers waits = apple_call(p, number, 0x01010002, MUTEX, 0x1202, 0);
    struct made made = {.code = p->code};
    made.words[4] = 0x1202;
    ck_assert_uint_eq(apple_owner(&made, &waits), 0x1203);
    made.words[4] = 0x1203; /* without that bit */
    ck_assert_uint_eq(apple_owner(&made, &waits), 0x1203);
    static const uint32_t wrong[] = {0, 1, 3 /* free */, 0x1303 /* another owner now */, 0xffffffff, 0xfffffffe};
    for (unsigned i = 0; i < ELEMENTS(wrong); i++) {
        made.words[4] = wrong[i];
        ck_assert_msg(apple_owner(&made, &waits) == 0, "an owner in spite of the word %#x", wrong[i]);
    }
    /* The name of a port that has died. */
    const struct usp_registers dead = apple_call(p, number, 2, MUTEX, 0xffffffff, 0);
    made.words[4] = 0xffffffff;
    ck_assert_uint_eq(apple_owner(&made, &dead), 0);
    /* A wait for any other value: a semaphore, a group, a condition. */
    const struct usp_registers compares = apple_call(p, number, 1, MUTEX, 0x1203, 0);
    made.words[4] = 0x1203;
    ck_assert_uint_eq(apple_owner(&made, &compares), 0);
    ck_assert_uint_eq(made.reads, 0);
}
END_TEST

/* Other calls, and registers that do not show a call. */
START_TEST(apple_others) {
    const struct processor *p = &apple[_i];
    struct made made;
    make_apple_mutex(&made, p);
    struct usp_registers registers = apple_call(p, 305, MUTEX, 0x203, 0x100, 0x4711); /* psynch_cvwait */
    ck_assert_uint_eq(apple_owner(&made, &registers), 0);
    ck_assert_uint_eq(made.reads, 0);
    registers = apple_call(p, PSYNCH_MUTEXWAIT, MUTEX, 0x203, 0x100, 0x4711);
    made.code = 0; /* the instruction before pc is not a system call */
    ck_assert_uint_eq(apple_owner(&made, &registers), 0);
    made.code = p->code;
    for (unsigned i = 0; i < 4; i++) {
        registers = apple_call(p, PSYNCH_MUTEXWAIT, MUTEX, 0x203, 0x100, 0x4711);
        registers.known &= ~(UINT64_C(1) << p->arguments[i]);
        ck_assert_uint_eq(apple_owner(&made, &registers), 0);
    }
    static const uint64_t addresses[] = {0, 4, 8, MUTEX + 1, MUTEX + 4, BASE + 64, UINT64_MAX - 7, UINT64_MAX};
    for (unsigned i = 0; i < ELEMENTS(addresses); i++) {
        registers = apple_call(p, PSYNCH_MUTEXWAIT, addresses[i], 0x203, 0x100, 0x4711);
        ck_assert_uint_eq(apple_owner(&made, &registers), 0);
    }
    /* The call returns there. */
    registers = apple_call(p, PSYNCH_MUTEXWAIT, MUTEX, 0x203, 0x100, 0x4711);
    for (unsigned pc = 0; pc < 4; pc++) {
        registers.value[p->arch == USP_ARCH_ARM64 ? 32 : 16] = pc;
        ck_assert_uint_eq(apple_owner(&made, &registers), 0);
    }
    /* The same registers in a process of Linux. */
    registers = apple_call(p, PSYNCH_MUTEXWAIT, MUTEX, 0x203, 0x100, 0x4711);
    ck_assert_uint_eq(owner_of(&made, &registers), 0);
}
END_TEST

/* A wait that ends by itself is not part of a deadlock. */
START_TEST(apple_time_limits) {
    const struct processor *p = &apple[_i];
    struct made made = {.code = p->code};
    const struct usp_memory memory = {read_made, &made};
    static const struct {
        uint32_t number;
        uint64_t limit;
        bool is_timed;
    } calls[] = {{ULOCK_WAIT, 0, false},
                 {ULOCK_WAIT, 1, true},
                 {ULOCK_WAIT, TIMER, false},
                 {ULOCK_WAIT2, 0, false},
                 {ULOCK_WAIT2, TIMER, true}};
    for (unsigned i = 0; i < ELEMENTS(calls); i++) {
        const struct usp_registers registers = apple_call(p, calls[i].number, 2, MUTEX, 0x1203, calls[i].limit);
        struct uspi_lock_wait wait;
        ck_assert(uspi_lock_wait_read(&wait, USP_OS_DARWIN, &registers, &memory));
        ck_assert_msg(wait.is_timed == calls[i].is_timed, "call %u", i);
    }
}
END_TEST

int main(void) {
    TCase *others = tcase_create("other processes"), *own = tcase_create("this process"), *made = tcase_create("made");
    /* A user-mode emulator's process has the host's registers and a thread of the emulator's own. */
    if (!is_user_emulated()) {
        add_loop_tests(others, 0, ELEMENTS(cases), of_another_process);
        add_loop_tests(own, 0, ELEMENTS(cases), of_this_process);
    }
    add_loop_tests(own, 0, ELEMENTS(cases), in_a_raw_capture);
    add_loop_tests(made, 0, ELEMENTS(processors), on_each_processor, no_owner_of_what_differs, at_the_ends_of_memory);
    add_loop_tests(made, 0, 3, interrupted_in_the_call);
    add_loop_tests(made, 0, ELEMENTS(apple), apple_mutex, apple_read_write_lock, apple_unfair_lock, apple_others,
                   apple_time_limits);
    return run_suite("locks", others, own, made);
}
