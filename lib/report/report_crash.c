/* SPDX-License-Identifier: MIT */
/* Writes the sections of an Apple crash report: the process, the threads, their registers, the images with their UUIDs.
 * Their form is that of Apple's own reports (Apple, "Examining the fields in a crash report"), so that readers and
 * symbolicating tools understand them. What only a crash has (the exception) is not known here. */
#include "arch/any.h"
#include "lib/report/lock_wait.h"
#include "lib/report/report.h"

#include <time.h>

#define KEY_WIDTH       21                                 /* width of the header's keys */
#define REGISTERS_A_ROW 4                                  /* registers in a line */
#define NO_UUID         "00000000000000000000000000000000" /* written for an image without a UUID */

static void put_key(struct uspi_text *text, const char *key) { uspi_put_padded(text, uspi_span_of(key), KEY_WIDTH); }

static const char *code_type(uint32_t arch) {
    const struct uspi_backend *b = uspi_backend_any(arch);
    return b != NULL && b->crash_name != NULL ? b->crash_name : usp_arch_string(arch);
}

static void put_two_digits(struct uspi_text *text, int value) {
    const char digits[2] = {(char)('0' + value / 10 % 10), (char)('0' + value % 10)};
    uspi_put(text, digits, 2);
}

static void put_date(struct uspi_text *text, uint64_t ns) {
    struct tm date;
    time_t seconds = (time_t)(ns / 1000000000u);
    int ms = (int)(ns / 1000000u % 1000u);
    if (gmtime_r(&seconds, &date) == NULL) return;
    put_key(text, "Date/Time:");
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
    uspi_put_string(text, " +0000\n");
}

/* Writes the signal that ended the process of a core, and the number of the thread that got it. */
static void put_exception(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    const struct usp_snapshot_thread *thread;
    const char *name = usp_signal_string(report->info->os, report->info->signal);
    if (name == NULL || report->info->crash == NULL || report->info->crash[0] == '\0') return;
    put_key(text, "Exception Type:");
    uspi_put_string(text, name);
    uspi_put(text, "\n", 1);
    put_key(text, "Exception Message:");
    uspi_put_harmless(text, uspi_span_of(report->info->crash), "");
    uspi_put(text, "\n", 1);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if ((thread->info.flags & USP_THREAD_CRASHED) == 0) continue;
        put_key(text, "Crashed Thread:");
        uspi_put_decimal(text, i, 0);
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
    put_key(text, "Path:");
    uspi_put_harmless(text, path, "");
    uspi_put(text, "\n", 1);
    put_key(text, "Code Type:");
    uspi_put_string(text, code_type(info->arch));
    uspi_put(text, "\n", 1);
    if (info->time != 0) put_date(text, info->time);
    uspi_put(text, "\n", 1);
    put_exception(report);
}

/* Writes which threads wait for locks of others. Apple's reports have this section for text of any kind. */
static void put_locks(struct uspi_report *report) {
    struct uspi_text *text = &report->text;
    const struct usp_snapshot_thread *thread, *owner;
    size_t number;
    bool any = false;
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if ((owner = uspi_report_lock_owner(report, thread, &number)) == NULL) continue;
        if (!any) uspi_put_string(text, "Application Specific Information:\n");
        any = true;
        uspi_put_string(text, "Thread ");
        uspi_put_decimal(text, i, 0);
        uspi_put(text, " ", 1);
        uspi_put_lock_wait(text, &thread->info, number, owner->info.name);
        uspi_put(text, "\n", 1);
    }
    if (any) uspi_put(text, "\n", 1);
}

static bool is_crashed(const struct uspi_report *report, const struct usp_snapshot_thread *thread) {
    if (report->options.crashed_thread == 0) return (thread->info.flags & USP_THREAD_CRASHED) != 0;
    return thread->info.thread.id == report->options.crashed_thread;
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
    uspi_put_string(text, is_crashed(report, thread) ? " Crashed:\n" : ":\n");
    if (thread->status == USP_OK) uspi_report_frames(report, USP_FORMAT_CRASH_REPORT, &thread->stack);
    uspi_put(text, "\n", 1);
}

/* Returns the name of a register: Apple's name if it differs from the assembler's. */
static struct uspi_span register_name(const struct uspi_backend *backend, unsigned n) {
    if (backend->lr != USPI_NO_REGISTER) {
        if (n == backend->lr) return uspi_span_of("lr");
        if (n == backend->fp && backend->slot == 8) return uspi_span_of("fp");
    }
    return uspi_span_of(backend->register_names[n]);
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
    uspi_put_string(text, is_crashed(report, thread) ? " crashed with " : " with ");
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
        put_register(text, backend, register_name(backend, n), registers->value[n]);
        in_row++;
    }
    uspi_put(text, "\n\n", 2);
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
        uspi_put_string(
            text, usp_variant_string(image->arch != USP_ARCH_NONE ? image->arch : report->info->arch, image->variant));
        uspi_put(text, "  <", 3);
        if (image->build_id_size == 0) {
            uspi_put_string(text, NO_UUID);
        } else {
            uspi_put_bytes(text, image->build_id, image->build_id_size);
        }
        uspi_put(text, "> ", 2);
        uspi_put_harmless(text, uspi_span_of(image->path), "");
        uspi_put(text, "\n", 1);
    }
}

void uspi_report_crash(struct uspi_report *report) {
    const struct usp_snapshot_thread *thread;
    if (report->only == NULL) put_header(report);
    if (report->only == NULL) put_locks(report);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) put_thread(report, i, thread);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) put_registers(report, i, thread);
    if (report->images != NULL) put_images(report);
}
