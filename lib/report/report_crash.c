/* SPDX-License-Identifier: MIT */
/* Writes an Apple crash report as text: the process, the cause, what the program has noted, the threads, their
 * registers, the images with their UUIDs. The form is that of Apple's own reports (Apple, "Examining the fields in a
 * crash report"), so that readers and symbolicating tools understand it. report_ips.c writes the same as JSON. */
#include "lib/report/report_crash.h"
#include "arch/any.h"
#include "lib/base/signal_names.h"
#include "lib/report/lock_wait.h"

#include <time.h>

#define KEY_WIDTH       21    /* width of the header's keys */
#define REGISTERS_A_ROW 4     /* registers in a line */
#define REPORT_VERSION  "104" /* of this form, without which symbolicatecrash stops */

static void put_key(struct uspi_text *text, const char *key) { uspi_put_padded(text, uspi_span_of(key), KEY_WIDTH); }

static void put_field(struct uspi_text *text, const char *key, const char *value) {
    put_key(text, key);
    uspi_put_harmless(text, uspi_span_of(value), "");
    uspi_put(text, "\n", 1);
}

/* ---- what both forms say ---- */

const char *uspi_report_code_type(uint32_t arch) {
    const struct uspi_backend *b = uspi_backend_any(arch);
    return b != NULL && b->crash_name != NULL ? b->crash_name : usp_arch_string(arch);
}

static void put_two_digits(struct uspi_text *text, int value) {
    const char digits[2] = {(char)('0' + value / 10 % 10), (char)('0' + value % 10)};
    uspi_put(text, digits, 2);
}

void uspi_report_put_date(struct uspi_text *text, uint64_t ns) {
    struct tm date;
    time_t seconds = (time_t)(ns / 1000000000u);
    int ms = (int)(ns / 1000000u % 1000u);
    if (gmtime_r(&seconds, &date) == NULL) return;
    uspi_put_decimal(text, (uint64_t)date.tm_year + 1900, 0);
    uspi_put(text, "-", 1);
    put_two_digits(text, date.tm_mon + 1);
    uspi_put(text, "-", 1);
    put_two_digits(text, date.tm_mday);
    uspi_put(text, " ", 1);
    put_two_digits(text, date.tm_hour);
    uspi_put(text, ":", 1);
    put_two_digits(text, date.tm_min);
    uspi_put(text, ":", 1);
    put_two_digits(text, date.tm_sec);
    uspi_put(text, ".", 1);
    const char hundreds = (char)('0' + ms / 100);
    uspi_put(text, &hundreds, 1);
    put_two_digits(text, ms % 100);
    uspi_put_string(text, " +0000");
}

bool uspi_report_is_crashed(const struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    if (report->options.crashed_thread == 0) return (thread->info.flags & USP_THREAD_CRASHED) != 0;
    return thread->info.thread.id == report->options.crashed_thread;
}

size_t uspi_report_crashed_number(const struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (uspi_report_is_crashed(report, thread)) return i;
    }
    return SIZE_MAX;
}

bool uspi_report_find_cause(const struct uspi_report *report, struct uspi_report_cause *cause) {
    const struct usp_snapshot_info *info = report->info;
    const bool has_fault = (info->flags & USP_SNAPSHOT_FAULT) != 0;
    const struct uspi_signal_code *code = uspi_signal_code_of(info->os, info->signal, info->signal_code);
    memset(cause, 0, sizeof *cause);
    const char *exception = uspi_mach_exception_name(info->mach_exception);
    cause->signal = usp_signal_string(info->os, info->signal);
    if (cause->signal == NULL || info->crash == NULL || info->crash[0] == '\0') return false;
    cause->is_exception = exception != NULL;
    cause->type = exception != NULL ? exception : cause->signal;
    cause->message = info->crash;
    cause->codes[0] = exception != NULL ? info->mach_codes[0] : (uint64_t)(int64_t)info->signal_code;
    cause->codes[1] = exception != NULL ? info->mach_codes[1] : has_fault ? info->fault_address : 0;
    const char *subtype = code != NULL ? code->name : NULL;
    if (exception != NULL) subtype = uspi_mach_code_name(info->arch, info->mach_exception, info->mach_codes[0]);
    struct uspi_text text = uspi_text_in(cause->subtype, sizeof cause->subtype);
    if (subtype != NULL) {
        uspi_put_string(&text, subtype);
        if (has_fault) uspi_put_string(&text, " at ");
        if (has_fault) uspi_put_hex(&text, info->fault_address, 16);
    }
    (void)uspi_text_end(&text);
    text = uspi_text_in(cause->code_text, sizeof cause->code_text);
    uspi_put_hex(&text, cause->codes[0], 16);
    uspi_put_string(&text, ", ");
    uspi_put_hex(&text, cause->codes[1], 16);
    (void)uspi_text_end(&text);
    return true;
}

void uspi_report_put_lock(struct uspi_text *text, const struct uspi_report *report, size_t i) {
    const struct usp_snapshot_thread *thread = uspi_report_thread(report, i), *owner;
    size_t number;
    if ((owner = uspi_report_lock_owner(report, thread, &number)) == NULL) return;
    uspi_put_string(text, "Thread ");
    uspi_put_decimal(text, i, 0);
    uspi_put(text, " ", 1);
    uspi_put_lock_wait(text, &thread->info, number, owner->info.name);
}

struct uspi_span uspi_report_register_name(const struct uspi_backend *backend, unsigned n) {
    if (backend->lr != USPI_NO_REGISTER) {
        if (n == backend->lr) return uspi_span_of("lr");
        if (n == backend->fp && backend->slot == 8) return uspi_span_of("fp");
    }
    return uspi_span_of(backend->register_names[n]);
}

/* ---- the sections ---- */

/* Writes what ended the process, and the number of the thread that got the signal. */
static void put_exception(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    struct uspi_report_cause cause;
    if (!uspi_report_find_cause(report, &cause)) return;
    put_key(text, "Exception Type:");
    uspi_put_string(text, cause.type);
    if (cause.is_exception) uspi_put(text, " (", 2);
    if (cause.is_exception) uspi_put_string(text, cause.signal);
    uspi_put_string(text, cause.is_exception ? ")\n" : "\n");
    if (cause.subtype[0] != '\0') put_field(text, "Exception Subtype:", cause.subtype);
    put_field(text, "Exception Message:", cause.message);
    put_field(text, "Exception Codes:", cause.code_text);
    put_key(text, "Termination Reason:");
    uspi_put_string(text, "SIGNAL ");
    uspi_put_decimal(text, report->info->signal, 0);
    uspi_put(text, " ", 1);
    uspi_put_string(text, cause.signal);
    uspi_put(text, "\n", 1);
    const size_t crashed = uspi_report_crashed_number(report);
    if (crashed != SIZE_MAX) {
        put_key(text, "Triggered by Thread:");
        uspi_put_decimal(text, crashed, 0);
        uspi_put(text, "\n", 1);
    }
    uspi_put(text, "\n", 1);
}

static void put_header(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    const struct usp_snapshot_info *info = report->info;
    struct uspi_span path = uspi_span_of(info->program != NULL ? info->program : "");
    put_key(text, "Process:");
    uspi_put_harmless(text, uspi_image_name(path.bytes, SIZE_MAX), "");
    uspi_put(text, " [", 2);
    uspi_put_decimal(text, info->pid > 0 ? (uint64_t)info->pid : 0, 0);
    uspi_put(text, "]\n", 2);
    put_field(text, "Path:", info->program != NULL ? info->program : "");
    put_field(text, "Code Type:", uspi_report_code_type(info->arch));
    if (info->time != 0) {
        put_key(text, "Date/Time:");
        uspi_report_put_date(text, info->time);
        uspi_put(text, "\n", 1);
    }
    put_field(text, "Report Version:", REPORT_VERSION);
    uspi_put(text, "\n", 1);
    put_exception(report);
}

/* Writes which threads wait for locks of others, and what the program and the libraries have said. Apple's reports have
 * this section for text of any kind. */
static void put_information(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    static const char heading[] = "Application Specific Information:\n";
    const struct usp_snapshot_thread *thread;
    const struct usp_snapshot_note *note;
    size_t number;
    bool any = false;
    for (size_t i = 0; report->snapshot != NULL && (note = usp_snapshot_get_note(report->snapshot, i)) != NULL; i++) {
        if (!any) uspi_put_string(text, heading);
        any = true;
        /* A note may read like a heading of the report, which begins its line. */
        uspi_put(text, "  ", 2);
        uspi_put_harmless(text, uspi_span_of(note->key), "");
        if (note->key[0] != '\0') uspi_put(text, ": ", 2);
        uspi_put_harmless(text, uspi_span_of(note->text), "");
        uspi_put(text, "\n", 1);
    }
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (uspi_report_lock_owner(report, thread, &number) == NULL) continue;
        if (!any) uspi_put_string(text, heading);
        any = true;
        uspi_report_put_lock(text, report, i);
        uspi_put(text, "\n", 1);
    }
    if (any) uspi_put(text, "\n", 1);
}

static void put_thread(struct uspi_report *report, size_t i, const struct usp_snapshot_thread *thread) {
    struct uspi_text *text = &report->text;
    if (thread->info.name[0] != '\0' || thread->info.queue[0] != '\0') {
        uspi_put_string(text, "Thread ");
        uspi_put_decimal(text, i, 0);
        uspi_put_string(text, " name:  ");
        uspi_put_harmless(text, uspi_span_of(thread->info.name), "");
        if (thread->info.queue[0] != '\0') {
            if (thread->info.name[0] != '\0') uspi_put(text, "  ", 2);
            uspi_put_string(text, "Dispatch queue: ");
            uspi_put_harmless(text, uspi_span_of(thread->info.queue), "");
        }
        uspi_put(text, "\n", 1);
    }
    uspi_put_string(text, "Thread ");
    uspi_put_decimal(text, i, 0);
    uspi_put_string(text, uspi_report_is_crashed(report, thread) ? " Crashed:\n" : ":\n");
    if (thread->status == USP_OK) uspi_report_frames(report, USP_FORMAT_CRASH_REPORT, &thread->stack);
    uspi_put(text, "\n", 1);
}

static void put_register(struct uspi_text *text, const struct uspi_backend *backend, struct uspi_span name,
                         uint64_t value) {
    uspi_put_right(text, name, 5);
    uspi_put(text, ": ", 2);
    uspi_put_hex(text, value, backend->word * 2u);
}

static void put_registers(struct uspi_report *report, size_t i, const struct usp_snapshot_thread *thread) {
    const struct usp_registers *registers = &thread->registers;
    const struct uspi_backend *backend = uspi_backend_any(registers->arch);
    struct uspi_text *text = &report->text;
    if (backend == NULL || registers->known == 0) return;
    uspi_put_string(text, "Thread ");
    uspi_put_decimal(text, i, 0);
    uspi_put_string(text, uspi_report_is_crashed(report, thread) ? " crashed with " : " with ");
    uspi_put_string(text, backend->lr != USPI_NO_REGISTER ? "ARM" : "X86");
    uspi_put_string(text, backend->slot == 8 ? " Thread State (64-bit):\n" : " Thread State (32-bit):\n");
    unsigned in_row = 0;
    for (unsigned n = 0; n < backend->register_count; n++) {
        if ((registers->known >> n & 1) == 0) continue;
        if (in_row == REGISTERS_A_ROW) {
            uspi_put(text, "\n", 1);
            in_row = 0;
        }
        /* Lines of ARM reports begin with an additional blank. */
        if (in_row == 0 && backend->lr != USPI_NO_REGISTER) uspi_put(text, " ", 1);
        put_register(text, backend, uspi_report_register_name(backend, n), registers->value[n]);
        in_row++;
    }
    uspi_put(text, "\n\n", 2);
}

/* Writes what is between an image's name and its path. Readers accept only an id of 16 bytes (LLDB's crashlog.py,
 * symbolicatecrash). A build id of another size is cut or filled up to that, and is whole in the version's place, where
 * images of macOS have no processor. */
static void put_id(struct uspi_text *text, const struct usp_image *image, uint32_t arch) {
    uint8_t id[USPI_UUID_BYTES] = {0};
    memcpy(id, image->build_id, image->build_id_size < sizeof id ? image->build_id_size : sizeof id);
    if (image->build_id_size == 0 || image->build_id_size == sizeof id) {
        uspi_put_string(text, usp_variant_string(arch, image->variant));
        uspi_put(text, " ", 1);
    } else {
        uspi_put(text, "(", 1);
        uspi_put_bytes(text, image->build_id, image->build_id_size);
        uspi_put(text, ")", 1);
    }
    uspi_put(text, " <", 2);
    uspi_put_bytes(text, id, sizeof id);
    uspi_put(text, "> ", 2);
}

static void put_images(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    uspi_put_string(text, "Binary Images:\n");
    for (size_t i = 0; i < usp_images_count(report->images); i++) {
        const struct usp_image *image = usp_images_get(report->images, i);
        uspi_put_hex(text, image->load_address, 1);
        uspi_put(text, " - ", 3);
        uspi_put_hex(text, image->end > image->load_address ? image->end - 1 : image->load_address, 1);
        uspi_put(text, " ", 1);
        uspi_put_harmless(text, uspi_image_name(image->path, SIZE_MAX), "");
        uspi_put(text, " ", 1);
        put_id(text, image, image->arch != USP_ARCH_NONE ? image->arch : report->info->arch);
        uspi_put_harmless(text, uspi_span_of(image->path), "");
        uspi_put(text, "\n", 1);
    }
}

/* Writes the stack that threw the exception, under Apple's heading. */
static void put_last_exception(struct uspi_report *report) {
    const struct usp_stack *stack = usp_snapshot_exception(report->snapshot);
    if (stack == NULL) return;
    uspi_put_string(&report->text, "Last Exception Backtrace:\n");
    uspi_report_frames(report, USP_FORMAT_CRASH_REPORT, stack);
    uspi_put(&report->text, "\n", 1);
}

void uspi_report_crash(struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    if (report->only == NULL) put_header(report);
    if (report->only == NULL) put_information(report);
    if (report->only == NULL) put_last_exception(report);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) put_thread(report, i, thread);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) put_registers(report, i, thread);
    if (report->images != NULL) put_images(report);
}
