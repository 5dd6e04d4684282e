/* SPDX-License-Identifier: MIT */
/* Tests what a start learns of a process that ends while the folder of reports is read. The moment comes from a replaced
 * table of calls. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

static struct uspi_linux_calls table;
static char folder[] = "/tmp/unspool-together-XXXXXX";
static char watched[64]; /* the file that is read when the process is asked about */
static pid_t other;
static bool has_ended;

static void install(void) {
    struct usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = folder;
    options.timeout = 20000000000;
    if (usp_crash_install(&options) != USP_OK) _exit(97);
}

/* Starts another process of this program, which has the kit. */
static void start_other(void) {
    int pipes[2];
    char word;
    ck_assert_int_eq(pipe(pipes), 0);
    other = fork();
    ck_assert_int_ge(other, 0);
    if (other == 0) {
        install();
        if (write(pipes[1], "i", 1) != 1) _exit(96);
        for (;;) pause();
    }
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &word, 1), 1);
    close(pipes[0]);
    snprintf(watched, sizeof watched, "/proc/%ld/stat", (long)other);
    has_ended = false;
}

static void end_other(int signal) {
    ck_assert_int_eq(kill(other, signal), 0);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    has_ended = true;
}

/* The other process crashes after the folder was listed, and before it is asked whether it lives. */
static long open_late(int at, const char *path, int flags) {
    if (!has_ended && strcmp(path, watched) == 0) end_other(SIGSEGV);
    return uspi_linux_real.open(at, path, flags);
}

static void remove_folder(void) {
    char path[512];
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(list);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_crash_while_the_folder_is_read_is_no_unexplained_end) {
    struct usp_crash_run run;
    struct usp_crash_report report;
    size_t count;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    start_other();
    table = uspi_linux_real;
    table.open = open_late;
    uspi_linux = &table;
    ck_assert_int_eq(usp_crash_last_run(folder, NULL, &run), USP_OK);
    uspi_linux = &uspi_linux_real;
    ck_assert_msg(has_ended, "the process was not asked about by %s", watched);
    ck_assert_msg(run.verdict == USP_CRASH_CRASHED, "verdict %u: %s", run.verdict, run.evidence);
    ck_assert_uint_eq(run.crashes, 1);
    ck_assert_int_eq(usp_crash_list(folder, &report, 1, &count), USP_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(run.report, report.name);
    remove_folder();
}
END_TEST

/* A program that empties the folder removes the file that was reserved for a report: there is a report nevertheless. */
START_TEST(a_folder_that_was_emptied_gets_the_report) {
    struct usp_crash_report report;
    size_t count;
    char path[512];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    start_other();
    DIR *list = opendir(folder);
    ck_assert_ptr_nonnull(list);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strstr(path, ".open") != NULL) ck_assert_int_eq(unlink(path), 0);
    }
    closedir(list);
    end_other(SIGSEGV);
    ck_assert_int_eq(usp_crash_list(folder, &report, 1, &count), USP_OK);
    ck_assert_uint_eq(count, 1);
    remove_folder();
}
END_TEST

int main(void) {
    /* An emulator hides the files of other processes. */
    if (is_user_emulated()) return 77;
    TCase *c = tcase_create("together");
    add_tests(c, a_crash_while_the_folder_is_read_is_no_unexplained_end, a_folder_that_was_emptied_gets_the_report);
    return run_suite("linux_together", c);
}
