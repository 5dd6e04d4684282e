/* SPDX-License-Identifier: MIT */
/* Mach exceptions, for the crash kit. A fault of the processor is first an exception: the thread waits in the kernel
 * until the owner of the task's exception port has replied. A thread of ours receives these exceptions and records the
 * thread that waits. So a thread is recorded that cannot run a handler: its stack has overflowed and it has no alternate
 * stack, or it blocks the signal.
 *
 *     receive │ take our ports away │ find the thread │ record │ callback │ put the ports back │ reply
 *
 * The reply is always that the exception was not handled. The kernel then makes the signal, and crash.c passes it on
 * without recording it again. While this thread records, the task has no exception port: a fault of this thread, and a
 * crash of another one, are signals at once.
 *
 * An exception that has a port already belongs to another reporter or to a debugger, and is left to it (doc/crash.md says
 * why). A reporter that takes the port later may forward messages of any kind to ours, and may give the task our port back
 * after the kit was uninstalled. Each message has one reply, which waits for nothing.
 * Not compiled on tvOS and watchOS, where these calls are forbidden. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include "lib/os/darwin/crash.h"

#include <string.h>

#if TARGET_OS_TV

int uspi_darwin_exceptions_begin(struct uspi_darwin_crash *c) {
    (void)c;
    return USP_OK;
}

void uspi_darwin_exceptions_end(struct uspi_darwin_crash *c) { (void)c; }

#else

#include "arch/host.h"
#include "lib/base/signal_names.h"
#include "lib/object/macho.h"

#include <mach/exception_types.h>
#include <mach/message.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sysctl.h>

/* The exceptions that become signals of a crash. */
#define CAUGHT                                                                                                         \
    ((exception_mask_t)(EXC_MASK_BAD_ACCESS | EXC_MASK_BAD_INSTRUCTION | EXC_MASK_ARITHMETIC | EXC_MASK_BREAKPOINT))

/* The first Darwin that knows EXCEPTION_IDENTITY_PROTECTED (iOS 15, macOS 12). Hardened apps are killed if they ask for
 * EXCEPTION_STATE_IDENTITY (xnu osfmk/kern/ipc_tt.c); there is no hardening on earlier systems. */
#define FIRST_PROTECTED 21

#define STACK_SIZE ((size_t)256 << 10)

/* Ids of messages (mach_exc.defs), and of ours: the thread has to end. */
enum { RAISE_STATE_IDENTITY = 2407, RAISE_PROTECTED = 2408, REPLY = 100, END = 1 };

#pragma pack(push, 4)
struct raise_identity {
    mach_msg_header_t head;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t thread, task;
    NDR_record_t ndr;
    exception_type_t type;
    mach_msg_type_number_t code_count;
    int64_t codes[2];
    /* The thread's state follows. */
};

struct raise_protected {
    mach_msg_header_t head;
    mach_msg_body_t body;
    mach_msg_port_descriptor_t task_token;
    NDR_record_t ndr;
    uint64_t thread;
    exception_type_t type;
    mach_msg_type_number_t code_count;
    int64_t codes[2];
};

struct reply {
    mach_msg_header_t head;
    NDR_record_t ndr;
    kern_return_t result;
};
#pragma pack(pop)

union request {
    mach_msg_header_t head;
    struct raise_identity identity;
    struct raise_protected protected;
    natural_t room[THREAD_STATE_MAX + 64]; /* a state as large as any, and the trailer */
};

struct exception {
    uint64_t thread; /* 0: not known */
    int32_t type;
    int64_t codes[2];
};

/* ---- the task's ports ---- */

/* Returns those of the exceptions that go to a port. MACH_PORT_NULL: those that go to no port. */
static exception_mask_t masks_of(mach_port_t port) {
    exception_mask_t masks[EXC_TYPES_COUNT], result = 0;
    mach_msg_type_number_t count = EXC_TYPES_COUNT;
    mach_port_t ports[EXC_TYPES_COUNT];
    exception_behavior_t behaviors[EXC_TYPES_COUNT];
    thread_state_flavor_t flavors[EXC_TYPES_COUNT];
    if (task_get_exception_ports(mach_task_self(), CAUGHT, masks, &count, ports, behaviors, flavors) != KERN_SUCCESS)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_dead = ports[i] == MACH_PORT_DEAD;
        if (ports[i] == port || (is_dead && port == MACH_PORT_NULL)) result |= masks[i];
        if (!is_dead) uspi_darwin_release(ports[i]);
    }
    return result & CAUGHT;
}

static exception_behavior_t behavior(void) {
    char release[32];
    size_t size = sizeof release - 1;
    memset(release, 0, sizeof release);
    /* A release is "21.6.0". */
    const bool is_known = sysctlbyname("kern.osrelease", release, &size, NULL, 0) == 0;
    int major = 0;
    for (const char *at = release; is_known && *at >= '0' && *at <= '9' && major < 1000; at++)
        major = 10 * major + (*at - '0');
    /* A system that does not tell its version is taken for a new one: there the other behaviour may be forbidden. */
    const bool is_old = major != 0 && major < FIRST_PROTECTED;
    return (exception_behavior_t)((is_old ? EXCEPTION_STATE_IDENTITY : EXCEPTION_IDENTITY_PROTECTED) |
                                  MACH_EXCEPTION_CODES);
}

static kern_return_t set_ports(const struct uspi_darwin_crash *c, exception_mask_t masks, mach_port_t port) {
    if (masks == 0) return KERN_SUCCESS;
    return task_set_exception_ports(mach_task_self(), masks, port, c->behavior, MACHINE_THREAD_STATE);
}

/* ---- from the exception to the signal ---- */

#define IS_X86            (USPI_HOST_ARCH == USP_ARCH_X86_64 || USPI_HOST_ARCH == USP_ARCH_I386)

/* si_code of an arithmetic exception (xnu bsd/dev/arm/unix_signal.c, bsd/dev/i386/unix_signal.c; the codes are those of
 * osfmk/mach/arm/exception.h, osfmk/mach/i386/exception.h). */
static int32_t arithmetic_code(int64_t code) {
    static const int8_t x86[] = {0, 7, 8};             /* FPE_INTDIV, FPE_INTOVF */
    static const int8_t arm[] = {0, 5, 1, 2, 3, 4, 5}; /* FPE_FLTINV, _FLTDIV, _FLTOVF, _FLTUND, _FLTRES, _FLTINV */
    const int64_t count = (int64_t)(IS_X86 ? sizeof x86 : sizeof arm);
    return code < 0 || code >= count ? 0 : IS_X86 ? x86[code] : arm[code];
}

/* Whether the address is in the guard below the main thread's stack: the kernel makes a SIGSEGV of it (xnu
 * bsd/uxkern/ux_exception.c). */
static bool is_in_main_guard(const struct uspi_held *held, const struct usp_thread_info *info, usp_addr address) {
    const usp_addr most = UINT64_C(64) << 20;
    const usp_addr high = held->stacks[0].high;
    return (info->flags & USP_THREAD_MAIN) != 0 && address < high && high - address <= most;
}

/* Finds signal and si_code (xnu bsd/uxkern/ux_exception.c). */
static void find_signal(const struct exception *e, const struct uspi_held *held, struct uspi_os_crash *crash) {
    const bool is_protected = e->codes[0] == KERN_PROTECTION_FAILURE;
    const bool is_general = IS_X86 && e->codes[0] == USPI_MACH_GENERAL_FAULT;
    crash->code = 1; /* SEGV_MAPERR, ILL_ILLOPC, TRAP_BRKPT, BUS_ADRALN */
    switch (e->type) {
    case EXC_BAD_ACCESS:
        if (e->codes[0] == KERN_INVALID_ADDRESS) {
            crash->signal = SIGSEGV;
        } else if (is_general) {
            crash->signal = SIGSEGV;
            crash->code = 0;
        } else if (is_protected && is_in_main_guard(held, crash->info, (usp_addr)e->codes[1])) {
            crash->signal = SIGSEGV;
            crash->code = 2; /* SEGV_ACCERR */
        } else {
            crash->signal = SIGBUS;
            /* The kernel's own si_code says "misaligned" of all of them on arm. */
            crash->code = e->codes[0] == USPI_MACH_ALIGNMENT ? 1 : 0;
        }
        crash->has_address = !is_general;
        crash->address = is_general ? 0 : (usp_addr)e->codes[1];
        break;
    case EXC_BAD_INSTRUCTION: crash->signal = SIGILL; break;
    case EXC_ARITHMETIC:
        crash->signal = SIGFPE;
        crash->code = arithmetic_code(e->codes[0]);
        break;
    case EXC_BREAKPOINT: crash->signal = SIGTRAP; break;
    default: break;
    }
}

/* ---- an exception ---- */

/* Returns a right to a thread of this process; MACH_PORT_NULL: there is none. A child of fork, and a program that it
 * executes, have inherited our port: their threads are not ours. */
static thread_act_t find_thread(uint64_t id) {
    struct uspi_darwin_list list;
    thread_act_t found = MACH_PORT_NULL;
    if (id == 0 || uspi_darwin_list(mach_task_self(), &list) != USP_OK) return MACH_PORT_NULL;
    for (size_t i = 0; i < list.count && found == MACH_PORT_NULL; i++) {
        uint64_t each;
        if (uspi_darwin_identify(list.ports[i], &each) && each == id) found = uspi_darwin_list_take(&list, i);
    }
    uspi_darwin_list_free(&list);
    return found;
}

/* Records the thread. Returns false if nothing is to be recorded. */
static bool record(struct uspi_darwin_crash *c, const struct exception *e, const struct uspi_held *held,
                   const struct usp_thread_info *info) {
    const struct uspi_posix_crash *common = &c->common;
    struct uspi_thread_copy copy;
    struct uspi_os_crash crash = {
        .thread = e->thread,
        .info = info,
        .copy = &copy,
        .exception = (uint32_t)e->type,
        .exception_codes = {(uint64_t)e->codes[0], (uint64_t)e->codes[1]},
    };
    find_signal(e, held, &crash);
    if (crash.signal == 0 || !uspi_posix_crash_begin_for(&c->common, e->thread, (int)crash.signal)) return false;
    memset(&copy, 0, sizeof copy);
    uspi_darwin_crash_describe_memory(held, &copy);
    c->first_thread = pthread_self();
    c->first_port = held->port;
    c->first_id = e->thread;
    common->hooks.record(common->hooks.context, &crash, uspi_os_clock() + common->hooks.timeout);
    return true;
}

static void take_exception(struct uspi_darwin_crash *c, const struct exception *e) {
    struct uspi_held held;
    struct usp_thread_info info;
    struct uspi_undisturbed kept;
    bool is_recorded = false;
    memset(&held, 0, sizeof held);
    held.port = find_thread(e->thread);
    if (held.port == MACH_PORT_NULL) return;
    if (uspi_darwin_describe(mach_task_self(), held.port, 0, &info, &held.place)) {
        struct uspi_window w = {.task = mach_task_self(), .is_own = true, .threads = &held, .count = 1};
        w.deadline = uspi_os_clock() + c->common.hooks.timeout;
        uspi_os_undisturbed_begin(&kept);
        uspi_darwin_window_hold(&w);
        uspi_darwin_window_release(&w);
        uspi_os_undisturbed_end(&kept);
        /* The thread waits in the kernel, and does not run before our reply. */
        if (held.status == USP_OK) is_recorded = record(c, e, &held, &info);
    }
    if (is_recorded) uspi_posix_crash_end_for(&c->common, e->thread);
    /* libpthread has another right to it. */
    uspi_darwin_release(held.port);
}

/* ---- messages ---- */

/* Releases the rights that came with a message, also with one of a kind that the kit has not asked for. */
static void release_rights(const union request *request) {
    const mach_msg_port_descriptor_t *rights[] = {&request->identity.thread, &request->identity.task};
    if ((request->head.msgh_bits & MACH_MSGH_BITS_COMPLEX) == 0) return;
    for (size_t i = 0; i < request->identity.body.msgh_descriptor_count && i < sizeof rights / sizeof *rights; i++)
        uspi_darwin_release(rights[i]->name);
}

/* Reads a message. */
static struct exception read_request(const union request *request) {
    struct exception e = {0};
    if (request->head.msgh_id == RAISE_PROTECTED && request->head.msgh_size >= sizeof request->protected) {
        e = (struct exception){request->protected.thread, request->protected.type, {request->protected.codes[0], 0}};
        if (request->protected.code_count > 1) e.codes[1] = request->protected.codes[1];
    } else if (request->head.msgh_id == RAISE_STATE_IDENTITY && request->head.msgh_size >= sizeof request->identity) {
        e = (struct exception){0, request->identity.type, {request->identity.codes[0], 0}};
        if (request->identity.code_count > 1) e.codes[1] = request->identity.codes[1];
        if (!uspi_darwin_identify(request->identity.thread.name, &e.thread)) e.thread = 0;
    }
    return e;
}

static void reply_failure(const union request *request) {
    struct reply reply;
    memset(&reply, 0, sizeof reply);
    reply.head.msgh_bits = MACH_MSGH_BITS(MACH_MSGH_BITS_REMOTE(request->head.msgh_bits), 0);
    reply.head.msgh_size = sizeof reply;
    reply.head.msgh_remote_port = request->head.msgh_remote_port;
    reply.head.msgh_id = request->head.msgh_id + REPLY;
    reply.ndr = request->identity.ndr;
    if (request->head.msgh_id == RAISE_PROTECTED) reply.ndr = request->protected.ndr;
    reply.result = KERN_FAILURE;
    /* The kernel's port has room for its one reply. Another reporter's may be full. */
    (void)mach_msg(&reply.head, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof reply, 0, MACH_PORT_NULL,
                   MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT};

/* Runs until the port is dead, or END arrives. `port` is that of one installation: the kit may have been installed anew
 * meanwhile. */
static void *receive(void *context) {
    const mach_port_t port = (mach_port_t)(uintptr_t)context;
    struct uspi_darwin_crash *c = (struct uspi_darwin_crash *)atomic_load(&uspi_darwin_capturing.crash);
    union request request;
    sigset_t mask;
    /* A fault of this thread ends the process by a signal. All others are for the program's threads. */
    sigfillset(&mask);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&mask, faults[i]);
    (void)pthread_sigmask(SIG_SETMASK, &mask, NULL);
    (void)pthread_setname_np("unspool crashes");
    atomic_store(&c->receiver, uspi_darwin_own_thread());
    for (;;) {
        const mach_msg_return_t result =
            mach_msg(&request.head, MACH_RCV_MSG, 0, sizeof request, port, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
        if (result == MACH_RCV_TOO_LARGE) continue;
        if (result != MACH_MSG_SUCCESS || request.head.msgh_id == END) break;
        const exception_mask_t masks = masks_of(port);
        const bool is_away = set_ports(c, masks, MACH_PORT_NULL) == KERN_SUCCESS;
        const struct exception e = read_request(&request);
        release_rights(&request);
        take_exception(c, &e);
        if (is_away) (void)set_ports(c, masks, port);
        reply_failure(&request);
    }
    (void)mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
    return NULL;
}

/* ---- installing ---- */

/* Returns whether the program is signed with an entitlement that forbids to set exception ports: the system kills a
 * program that does it nevertheless. Reads the signature of the main image: a list of parts, two of which are the
 * entitlements (xnu osfmk/kern/cs_blobs.h). */
#define LC_CODE_SIGNATURE 0x1du
#define SIGNATURE         0xfade0cc0u
#define ENTITLEMENTS_XML  5u
#define ENTITLEMENTS_DER  7u
#define PART_MAX          ((uint32_t)1 << 20)
#define PARTS_MAX         64u
static const char only_one[] = "com.apple.security.only-one-exception-port";

static bool read_big(struct uspi_bytes bytes, uint64_t offset, uint32_t *value) {
    uint8_t b[4];
    if (uspi_bytes_read(bytes, offset, b, sizeof b, "signature", NULL) != USP_OK) return false;
    *value = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    return true;
}

static bool has_text(struct uspi_bytes signature, uint32_t offset, const char *text, size_t n) {
    uint32_t size;
    bool has = false;
    if (!read_big(signature, offset + 4, &size) || size > PART_MAX) return false;
    char *part = calloc(1, (size_t)size + 1);
    if (part == NULL) return false;
    if (uspi_bytes_read(signature, offset, part, size, "signature", NULL) == USP_OK) {
        for (uint32_t i = 0; i + n <= size && !has; i++) has = memcmp(part + i, text, n) == 0;
    }
    free(part);
    return has;
}

static bool forbids_ports(const struct uspi_macho *macho) {
    struct uspi_macho_command command;
    struct uspi_bytes signature;
    uint32_t offset, size, magic, count, kind;
    uint8_t where[8];
    if (uspi_macho_find(macho, LC_CODE_SIGNATURE, &command, NULL) != USP_OK ||
        uspi_bytes_read(command.bytes, 8, where, sizeof where, "signature", NULL) != USP_OK)
        return false;
    memcpy(&offset, where, sizeof offset);
    memcpy(&size, where + 4, sizeof size);
    if (uspi_macho_part(macho, offset, size, "signature", &signature, NULL) != USP_OK ||
        !read_big(signature, 0, &magic) || magic != SIGNATURE || !read_big(signature, 8, &count))
        return false;
    for (uint32_t i = 0; i < count && i < PARTS_MAX; i++) {
        if (!read_big(signature, 12 + 8 * i, &kind) || !read_big(signature, 16 + 8 * i, &offset)) return false;
        if ((kind == ENTITLEMENTS_XML || kind == ENTITLEMENTS_DER) &&
            has_text(signature, offset, only_one, sizeof only_one - 1))
            return true;
    }
    return false;
}

static bool is_forbidden(void) {
    struct usp_memory memory = {uspi_darwin_read_task, (void *)(uintptr_t)mach_task_self()};
    const struct uspi_source source = uspi_source_of_memory(&memory, "image");
    struct uspi_darwin_loaded loaded;
    struct uspi_macho macho;
    for (size_t at = 0; uspi_darwin_next_loaded(&at, &loaded);) {
        if (uspi_macho_open(&macho, uspi_bytes_at(&source, loaded.load), NULL) != USP_OK) continue;
        if (macho.type == USPI_MH_EXECUTE) return forbids_ports(&macho);
    }
    return false;
}

/* Starts the thread with all signals blocked. */
static bool start(mach_port_t port) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, kept;
    sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    (void)pthread_sigmask(SIG_SETMASK, &all, &kept);
    const bool is_started = pthread_create(&thread, &attributes, receive, (void *)(uintptr_t)port) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &kept, NULL);
    (void)pthread_attr_destroy(&attributes);
    if (is_started) (void)pthread_detach(thread);
    return is_started;
}

/* Ends the thread, which gives up its right to receive; the message takes our right to send. */
static void end_thread(mach_port_t port) {
    mach_msg_header_t end;
    memset(&end, 0, sizeof end);
    end.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_MOVE_SEND, 0);
    end.msgh_size = sizeof end;
    end.msgh_remote_port = port;
    end.msgh_id = END;
    (void)mach_msg(&end, MACH_SEND_MSG, sizeof end, 0, MACH_PORT_NULL, MACH_MSG_TIMEOUT_NONE, MACH_PORT_NULL);
}

/* Makes a port with a thread that receives from it. */
static bool open_port(mach_port_t *made) {
    mach_port_t port;
    if (mach_port_allocate(mach_task_self(), MACH_PORT_RIGHT_RECEIVE, &port) != KERN_SUCCESS) return false;
    bool has_right = mach_port_insert_right(mach_task_self(), port, port, MACH_MSG_TYPE_MAKE_SEND) == KERN_SUCCESS;
    if (!has_right || !start(port)) {
        (void)mach_port_mod_refs(mach_task_self(), port, MACH_PORT_RIGHT_RECEIVE, -1);
        if (has_right) uspi_darwin_release(port);
        return false;
    }
    *made = port;
    return true;
}

int uspi_darwin_exceptions_begin(struct uspi_darwin_crash *c) {
    /* A child of fork has none of its parent's ports. */
    const bool is_kept = c->kept != MACH_PORT_NULL && c->kept_by == c->common.system->own_process();
    mach_port_t port = c->kept;
    c->exceptions = MACH_PORT_NULL;
    if (is_forbidden()) return USP_ERROR_PERMISSION;
    const exception_mask_t masks = uspi_os_is_traced() ? 0 : masks_of(MACH_PORT_NULL);
    if (masks == 0) return USP_ERROR_BUSY;
    c->behavior = behavior();
    if (!is_kept && !open_port(&port)) return USP_ERROR_SYSTEM;
    if (set_ports(c, masks, port) != KERN_SUCCESS) {
        if (!is_kept) end_thread(port);
        return USP_ERROR_PERMISSION;
    }
    c->kept = MACH_PORT_NULL;
    c->exceptions = port;
    c->masks = masks;
    return masks == CAUGHT ? USP_OK : USP_ERROR_BUSY;
}

void uspi_darwin_exceptions_end(struct uspi_darwin_crash *c) {
    const mach_port_t port = c->exceptions;
    if (port == MACH_PORT_NULL) return;
    const exception_mask_t masks = masks_of(port);
    c->exceptions = MACH_PORT_NULL;
    const bool is_removed = set_ports(c, masks, MACH_PORT_NULL) == KERN_SUCCESS;
    if (is_removed && masks == c->masks) {
        end_thread(port);
    } else {
        /* A reporter that has taken our port away may give it back. A thread whose exception goes to a dead port repeats
         * its instruction for ever (xnu osfmk/kern/exception.c), so the port stays, and our thread replies. */
        c->kept = port;
        c->kept_by = c->common.system->own_process();
    }
}

#endif

#endif

#endif
