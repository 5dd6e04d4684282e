/* SPDX-License-Identifier: MIT */
/* The texts of statuses, stop reasons, strategies and processors, and the version. */
#include "arch/backend.h"
#include "arch/host.h"
#include "lib/base/processor.h"
#include "lib/base/span.h"

#include <unspool/base.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

static const char *const statuses[] = {
    [-USP_OK] = "success",
    [-USP_ERROR_ARGUMENT] = "invalid argument",
    [-USP_ERROR_UNREADABLE] = "memory cannot be read",
    [-USP_ERROR_ABSENT] = "memory is not in the core file",
    [-USP_ERROR_NO_MEMORY] = "out of memory",
    [-USP_ERROR_UNSUPPORTED] = "not supported on this platform",
    [-USP_ERROR_NOT_PREPARED] = "usp_prepare has not been called",
    [-USP_ERROR_NO_THREAD] = "no such thread or process",
    [-USP_ERROR_TIMEOUT] = "the thread did not answer in time",
    [-USP_ERROR_PERMISSION] = "permission denied",
    [-USP_ERROR_SYSTEM] = "a system call failed",
    [-USP_ERROR_FORMAT] = "malformed data",
    [-USP_ERROR_TRUNCATED] = "data ends too early",
    [-USP_ERROR_MISMATCH] = "build-id or UUID differs",
    [-USP_ERROR_NOT_FOUND] = "not found",
    [-USP_ERROR_BUSY] = "busy, try again",
    [-USP_ERROR_FULL] = "buffer too small",
    [-USP_ERROR_STACK_FULL] = "the thread's stack is full",
};

static const char *const stops[] = {
    [USP_STOP_NONE] = "not ended",
    [USP_STOP_ROOT] = "the outermost frame was reached",
    [USP_STOP_FP_ZERO] = "the frame pointer is zero",
    [USP_STOP_FP_MISALIGNED] = "the frame pointer is misaligned",
    [USP_STOP_FP_BACKWARDS] = "the frame pointer goes backwards",
    [USP_STOP_FP_OUTSIDE] = "the frame pointer leaves the stack",
    [USP_STOP_UNREADABLE] = "the stack cannot be read",
    [USP_STOP_RA_ZERO] = "the return address is zero",
    [USP_STOP_RA_NOT_CODE] = "the return address does not follow a call",
    [USP_STOP_NO_RECORD] = "the code keeps no frame record",
    [USP_STOP_CAPACITY] = "no room for more frames",
    [USP_STOP_CYCLE] = "the chain runs in a circle",
    [USP_STOP_STEP_LIMIT] = "the step limit was reached",
    [USP_STOP_DEADLINE] = "the deadline has passed",
    [USP_STOP_CORRUPT_TABLE] = "an unwind table is corrupt",
    [USP_STOP_REGISTERS] = "the registers to begin with are not known",
    [USP_STOP_NOT_COPIED] = "the stack was not copied further",
    [USP_STOP_KERNEL] = "the thread runs only in the kernel",
};

static const char *const strategies[] = {
    [USP_STRATEGY_NONE] = "none",
    [USP_STRATEGY_DLADDR] = "dladdr",
    [USP_STRATEGY_SYMTAB] = "symtab",
    [USP_STRATEGY_OBJC_RUNTIME] = "objc-runtime",
    [USP_STRATEGY_OBJC_METADATA] = "objc-metadata",
    [USP_STRATEGY_DEBUG_INFO] = "debug-info",
    [USP_STRATEGY_PERF_MAP] = "perf-map",
    [USP_STRATEGY_JITDUMP] = "jitdump",
    [USP_STRATEGY_GDB_JIT] = "gdb-jit",
};

/* Room for a processor's name; all are shorter. */
#define ARCH_ROOM 16

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const char *usp_status_string(int status) {
    if (status > 0 || status <= -(int)COUNT(statuses)) return "unknown status";
    return statuses[-status];
}

const char *usp_stop_reason_string(uint32_t stop) { return stop < COUNT(stops) ? stops[stop] : "unknown reason"; }

const char *usp_strategy_string(uint32_t strategy) {
    return strategies[strategy < COUNT(strategies) ? strategy : USP_STRATEGY_NONE];
}

const char *uspi_variant_string(uint32_t arch, uint32_t variant) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    for (size_t i = 0; b != NULL && variant > USP_VARIANT_PLAIN && i < b->name_count; i++) {
        if (b->names[i].variant == variant) return b->names[i].name;
    }
    return b != NULL ? b->name : "unknown";
}

uint32_t uspi_arch_from_string(const char *name) {
    uint32_t variant;
    const struct uspi_backend *b = uspi_backend_of_name(name, &variant);
    return b != NULL ? b->arch : USP_ARCH_NONE;
}

uint32_t uspi_variant_from_string(const char *name) {
    uint32_t variant;
    (void)uspi_backend_of_name(name, &variant);
    return variant;
}

uint32_t uspi_scan_arch(struct uspi_span word, uint32_t *variant) {
    char name[ARCH_ROOM] = "";
    if (word.length > 0 && word.length < sizeof name) memcpy(name, word.bytes, word.length);
    *variant = uspi_variant_from_string(name);
    return uspi_arch_from_string(name);
}

uint32_t usp_arch_host(void) { return USPI_HOST_ARCH; }

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

uint32_t usp_version(void) { return USP_VERSION_MAJOR << 16 | USP_VERSION_MINOR << 8 | USP_VERSION_PATCH; }

const char *usp_version_string(void) {
    return TEXT(USP_VERSION_MAJOR) "." TEXT(USP_VERSION_MINOR) "." TEXT(USP_VERSION_PATCH);
}
