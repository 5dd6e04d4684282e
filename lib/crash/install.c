/* SPDX-License-Identifier: MIT */
/* Installs the crash kit and ends it. */
#include "lib/crash/kit.h"

#include "lib/base/sized.h"
#include "lib/base/text.h"
#include "lib/capture/state.h"

void usp_crash_options_init(struct usp_crash_options *options) {
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
    options->max_reports = 20;
    options->max_bytes = 10000000;
    options->max_threads = 1024;
    options->max_frames = 256;
    options->timeout = 2000000000;
}

static bool are_valid(const struct usp_crash_options *o) {
    return o->directory != NULL && o->directory[0] != '\0' && strlen(o->directory) < USPI_CRASH_PATH &&
           o->max_reports > 0 && o->max_bytes > 0 && o->max_threads > 0 && o->max_threads <= 65536 &&
           o->max_frames >= 16 && o->max_frames <= 65536 && o->timeout > 0 && o->timeout <= 60000000000;
}

static struct uspi_crash_kit *make_kit(const struct usp_crash_options *options, const char *directory) {
    const size_t size = sizeof(struct uspi_crash_kit) + options->max_frames * sizeof(struct usp_frame);
    struct uspi_crash_kit *kit = uspi_os_reserve(size);
    if (kit == NULL) return NULL;
    kit->size = size;
    kit->options = *options;
    uspi_crash_copy_text(kit->directory, sizeof kit->directory, directory);
    kit->options.directory = kit->directory;
    if (options->version != NULL) uspi_crash_copy_text(kit->version, sizeof kit->version, options->version);
    kit->options.version = kit->version;
    kit->file.descriptor = -1;
    kit->started = uspi_os_wall_clock();
    uspi_crash_find_messages(&kit->messages);
    (void)uspi_os_run_describe(&kit->facts);
    uspi_crash_find_program(&kit->facts);
    struct uspi_text text = uspi_text_in(kit->run, sizeof kit->run);
    uspi_put_hex(&text, kit->started, 16);
    uspi_put(&text, "-", 1);
    uspi_put_decimal(&text, (uint64_t)kit->facts.pid, 0);
    (void)uspi_text_end(&text);
    return kit;
}

static void describe_run(const struct uspi_crash_kit *kit, struct uspi_crash_run_file *run) {
    memset(run, 0, sizeof *run);
    uspi_crash_copy_text(run->name, sizeof run->name, kit->run);
    uspi_crash_copy_text(run->version, sizeof run->version, kit->version);
    uspi_crash_name_program(run->program, kit->facts.program);
    run->facts = kit->facts;
    run->started = kit->started;
    run->crashes = kit->crashes;
}

/* Notes that the run has ended. Does nothing if a handler of the program has called exit in a crash. The kit stays
 * mapped: a handler of ours may still run on another thread.
 *   stays  the handlers stay, for a crash that comes later, in a destructor that has not run yet */
static void end_run(bool stays) {
    struct uspi_crash_kit *kit = uspi_os_crash_context();
    struct uspi_crash_run_file run;
    char path[sizeof kit->report_path];
    if (kit == NULL || !uspi_os_crash_pause()) return;
    /* An earlier handler has left by longjmp, and its report is still there; or the report was never begun. */
    uspi_crash_copy_text(path, sizeof path, kit->is_published ? kit->report_path : kit->open_path);
    struct uspi_os_kept_file file = kit->file;
    kit->file = (struct uspi_os_kept_file){.descriptor = -1};
    kit->is_published = false;
    kit->written = 1; /* a later crash makes a new file */
    if (stays) {
        uspi_os_crash_resume();
    } else {
        uspi_os_crash_uninstall();
    }
    (void)uspi_os_remove_file(path);
    uspi_os_kept_file_close(&file);
    /* The folder may have been removed or replaced: no other one is made. */
    if (!uspi_crash_has_run(kit->directory, kit->run)) return;
    describe_run(kit, &run);
    run.has_ended = true;
    run.ended = uspi_os_wall_clock();
    (void)uspi_crash_write_run(kit->directory, &run);
}

/* A program that returns from main or calls exit has ended cleanly, unless it crashes later. */
static void end_with_process(void *context, bool stays) {
    (void)context;
    end_run(stays);
}

/* Makes the run's files, and installs the handlers. */
static int begin_run(struct uspi_crash_kit *kit) {
    struct uspi_crash_run_file last, run;
    const struct uspi_os_crash_hooks hooks = {
        .record = uspi_crash_record,
        .tell = uspi_crash_tell,
        .retract = uspi_crash_retract,
        .end = end_with_process,
        .context = kit,
        .timeout = kit->options.timeout,
        .max_threads = kit->options.max_threads,
    };
    const int lock = uspi_os_lock_old_folder(kit->directory);
    int status = uspi_crash_settle(kit->directory, kit->run, kit->options.max_reports, kit->options.max_bytes, &last);
    if (status == USP_OK && last.has_report) kit->crashes = last.crashes + 1;
    if (status == USP_ERROR_NOT_FOUND) status = USP_OK;
    describe_run(kit, &run);
    if (status == USP_OK) status = uspi_crash_write_run(kit->directory, &run);
    /* On a full disk, the file is tried again at the crash. */
    if (status == USP_OK && uspi_crash_make_file(kit) != USP_OK) kit->written = 1;
    uspi_os_unlock_folder(lock);
    if (status != USP_OK) return status;
    status = uspi_os_crash_install(&hooks);
    if (status != USP_OK) uspi_crash_remove_run(kit->directory, kit->run);
    return status;
}

static int install_kit(const struct usp_crash_options *completed) {
    char directory[USPI_CRASH_PATH];
    if (uspi_os_crash_context() != NULL) return USP_ERROR_BUSY;
    /* On Linux images and unwind tables are found at the crash. */
    int status = uspi_os_kind() == USP_OS_LINUX ? uspi_capture_prepare_stops() : uspi_capture_prepare();
    /* The program may change its working folder. */
    if (status == USP_OK) status = uspi_os_absolute_path(completed->directory, directory, sizeof directory);
    if (status == USP_OK) status = uspi_os_make_folder(directory);
    if (status != USP_OK) return status;
    struct uspi_crash_kit *kit = make_kit(completed, directory);
    if (kit == NULL) return USP_ERROR_NO_MEMORY;
    status = begin_run(kit);
    if (status == USP_OK) return USP_OK;
    if (kit->open_path[0] != '\0') (void)uspi_os_remove_file(kit->open_path);
    uspi_os_kept_file_close(&kit->file);
    uspi_os_unreserve(kit, kit->size);
    return status;
}

int usp_crash_install(const struct usp_crash_options *options) {
    struct usp_crash_options completed;
    usp_crash_options_init(&completed);
    if (options == NULL || !USPI_COMPLETE(&completed, options) || !are_valid(&completed)) return USP_ERROR_ARGUMENT;
    /* A run of this process that another thread begins would be taken for an earlier one. */
    (void)uspi_lock_take(&uspi_capture_state.crash_kit);
    const int status = install_kit(&completed);
    uspi_lock_give(&uspi_capture_state.crash_kit);
    return status;
}

/* How long uninstalling waits for another thread that installs or uninstalls the kit, in ns. An earlier handler may call
 * it in a crash of that very thread, so it does not wait for ever. */
#define UNINSTALL_WAIT UINT64_C(1000000000)

void usp_crash_uninstall(void) {
    struct uspi_lock *lock = &uspi_capture_state.crash_kit;
    const bool is_taken = uspi_lock_take_within(lock, UNINSTALL_WAIT) != USPI_LOCK_HELD;
    end_run(false);
    if (is_taken) uspi_lock_give(lock);
}

int usp_crash_status(void) { return uspi_os_crash_status(); }

int usp_crash_thread_begin(void) { return uspi_os_crash_thread_begin(); }
void usp_crash_thread_end(void) { uspi_os_crash_thread_end(); }
