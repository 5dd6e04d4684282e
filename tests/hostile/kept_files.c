/* SPDX-License-Identifier: MIT */
/* For mutate.py: reads the files that the library alone reads, as a program does at its next start.
 *
 * kept_files make FILE         writes a hang file with two threads
 * kept_files hang FILE         reads a hang file, and writes the hang in each form
 * kept_files crash DIRECTORY   asks how the last run ended, and lists, reads, marks and deletes the reports
 *
 * Exit status 0; 1: what was there is damaged; 3: nothing was there; 2: wrong arguments. */
#include "lib/monitor/hang_file.h"
#include "lib/profile/profile.h"

#include <unspool/unspool.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int put(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* ---- hangs ---- */

static struct usp_profile *make_profile(uint64_t threads) {
    struct usp_profile_options options;
    struct usp_profile *profile;
    usp_profile_options_init(&options);
    options.memory = 65536;
    if (usp_profile_create(&options, &profile) != USP_OK) return NULL;
    for (uint64_t i = 1; i <= threads; i++) {
        const struct usp_thread_info info = {.thread = {i, 0}, .name = "worker"};
        struct usp_frame frames[] = {{.pc = 0x3000 + i}, {.pc = 0x2000}, {.pc = 0x1000}};
        struct usp_stack stack;
        usp_stack_init(&stack, frames, 3);
        stack.count = 3;
        const struct usp_profile_sample sample = {.thread = &info, .stack = &stack, .time = i, .wall = 1000 * i};
        if (usp_profile_add(profile, &sample) != USP_OK) break;
        if (i == 1) uspi_profile_mark(profile, 1);
    }
    return profile;
}

static int make_hang(const char *path) {
    struct uspi_hang_file file;
    struct usp_hang hang = {.id = 1, .pid = 1, .program = "", .duration = 5, .samples = 1};
    hang.profile = make_profile(1);
    hang.threads = make_profile(2);
    if (hang.profile == NULL || hang.threads == NULL || uspi_hang_file_make(&file, path, 4096) != USP_OK) return 1;
    uspi_hang_file_write(&file, &hang, 1);
    uspi_hang_file_close(&file);
    usp_profile_free(hang.profile);
    usp_profile_free(hang.threads);
    return 0;
}

static int read_hang(const char *path) {
    struct usp_hang *hang;
    struct usp_hang_write_options options;
    const int status = usp_hang_open(path, &hang);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? 3 : 1;
    usp_hang_write_options_init(&options);
    for (options.style = USP_HANG_TEXT; options.style <= USP_HANG_JSON; options.style++)
        (void)usp_hang_write(hang, &options, put, stdout);
    usp_hang_free(hang);
    return 0;
}

/* ---- crash reports ---- */

static int read_report(const char *directory, const char *name) {
    struct usp_format_options options;
    struct usp_snapshot *snapshot;
    char error[200];
    if (usp_crash_open(directory, name, &snapshot, error, sizeof error) != USP_OK) return 1;
    usp_format_options_init(&options);
    (void)usp_format_snapshot(snapshot, &options, put, stdout);
    const struct usp_snapshot_note *note;
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++)
        printf("%s %s\n", note->key, note->text);
    usp_snapshot_free(snapshot);
    return 0;
}

static int read_crashes(const char *directory) {
    struct usp_crash_run run;
    struct usp_crash_report reports[32];
    size_t count = 0;
    int result = 0;
    if (usp_crash_last_run(directory, "2", &run) != USP_OK) return 1;
    printf("%" PRIu32 " %s %s\n", run.verdict, run.report, run.evidence);
    if (usp_crash_list(directory, reports, 32, &count) != USP_OK) return 1;
    for (size_t i = 0; i < count; i++) result |= read_report(directory, reports[i].name);
    for (size_t i = 0; i < count; i++) (void)usp_crash_mark_sent(directory, reports[i].name);
    if (count > 0) (void)usp_crash_delete(directory, reports[count - 1].name);
    return count == 0 ? 3 : result;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    if (strcmp(argv[1], "make") == 0) return make_hang(argv[2]);
    if (strcmp(argv[1], "hang") == 0) return read_hang(argv[2]);
    return strcmp(argv[1], "crash") == 0 ? read_crashes(argv[2]) : 2;
}
