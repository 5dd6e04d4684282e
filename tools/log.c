/* SPDX-License-Identifier: MIT */
/* Implements log.h: reads each log, and writes it with names. */
#define _GNU_SOURCE 1 /* for realpath */
#include "tools/log.h"

#include "tools/command.h"
#include "tools/log_files.h"
#include "tools/log_images.h"
#include "tools/log_input.h"
#include "tools/log_jobs.h"
#include "tools/log_names.h"
#include "tools/log_output.h"
#include "tools/log_records.h"
#include "tools/log_say.h"
#include "tools/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- one log ---- */

struct session {
    const struct log_options *options;
    const struct usp_reader *images; /* images of --binary-images; NULL: none */
    struct log_names *names;
    struct log_output output;
    struct usp_reader_counts counts; /* sums over all logs */
    struct log_standard *standard;
    const struct log_file_names *files;
    struct log_pool *pool; /* the processes of --jobs; NULL: none */
    off_t said, said_end;  /* where the messages about builds are among those of the last log, if they go to a file */
    /* Of all processes: the worst status, and whether frames have lines. */
    int worst;
    bool has_lines;
    char lineless[2048]; /* the first message that they have none; empty: none */
};

static int find_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    const struct session *session = context;
    return log_names_answer(session->names, place, answer);
}

static int write_out(void *context, const char *bytes, size_t n) {
    struct session *session = context;
    return log_output_write(&session->output, bytes, n) ? USP_OK : USP_ERROR_SYSTEM;
}

/* Learns the images of a log before it is written, because they may be listed after the frames. A file is read twice.
 * Of a stream, the beginning is kept. A stream is written directly if --binary-images gives the images. */
static int learn(struct usp_reader *reader, struct log_input *input, const struct session *session) {
    int status = USP_OK;
    struct uspi_span piece;
    if (!input->is_file && session->images != NULL) return log_input_rewind(input) ? USP_OK : USP_ERROR_SYSTEM;
    while (status == USP_OK && log_input_is_kept(input) && log_input_read(input, &piece)) {
        status = usp_reader_learn(reader, piece.bytes, piece.length);
    }
    if (status == USP_OK) status = usp_reader_rewind(reader);
    if (status == USP_OK && !log_input_rewind(input)) status = USP_ERROR_SYSTEM;
    return status;
}

static int write_log(struct usp_reader *reader, struct log_input *input, const char *path, struct session *session) {
    struct uspi_span piece;
    char error[512] = "";
    int status = learn(reader, input, session);
    while (status == USP_OK && !log_output_has_failed(&session->output) && log_input_read(input, &piece)) {
        status = usp_reader_write(reader, piece.bytes, piece.length);
        /* Flushes each piece, so that a program that follows the log sees each line immediately. */
        if (!input->is_file) log_output_flush(&session->output);
    }
    if (input->has_failed) return log_fail_to_read(path, input->error);
    if (input->skipped > 0)
        complain("%s: %" PRIu64 " bytes were never written (holes), and are left out", log_called(path),
                 input->skipped);
    if (status == USP_OK) status = usp_reader_end(reader, error, sizeof error);
    if (error[0] != '\0') {
        complain("%s: %s", log_called(path), error);
        /* A text that is cut off was read as far as it is whole. */
        if (status != USP_OK) return EXIT_NO_TARGET;
    }
    if (status == USP_OK) return EXIT_ALL_WELL;
    return log_output_has_failed(&session->output) ? log_output_fail(&session->output) : log_fail(path, status);
}

/* Opens a log for reading. Complains. Returns an enum exit_status. */
static int open_log(const struct session *session, const struct log_file_name *name, struct log_input *input,
                    struct log_folder *place) {
    const bool is_in_place = session->options->is_in_place;
    if (is_in_place && strcmp(name->path, "-") == 0) {
        complain("standard input has no place that could be written");
        return EXIT_USAGE;
    }
    int fd = log_file_open(name, is_in_place, place);
    if (fd < 0 && errno == ELOOP && is_in_place) {
        complain("%s: is a symbolic link; --follow replaces the file that it leads to", name->path);
        return EXIT_NO_TARGET;
    }
    if (fd < 0 && errno == EINVAL) {
        complain("%s: is not a regular file", name->path);
        return EXIT_NO_TARGET;
    }
    if (log_input_take(input, fd)) return EXIT_ALL_WELL;
    const int error = errno;
    if (place->folder >= 0) close(place->folder);
    errno = error;
    if (errno != EINVAL) return log_fail_to_read(name->path, errno);
    complain("%s: the output goes into this file", log_called(name->path));
    return EXIT_NO_TARGET;
}

/* Returns where the messages of a process of --jobs end, which go to a file. */
static off_t messages_end(const struct session *session) {
    return session->options->jobs > 1 ? lseek(STDERR_FILENO, 0, SEEK_CUR) : 0;
}

static int rewrite_log(struct session *session, const struct log_file_name *name) {
    struct log_input input;
    struct log_folder place;
    struct usp_reader *reader;
    struct usp_reader_options options;
    struct usp_reader_counts counts;
    const char *path = name->path;
    int status = open_log(session, name, &input, &place);
    if (status != EXIT_ALL_WELL) return status;
    usp_reader_options_init(&options);
    if (!session->options->keeps_names) options.flags = USP_READER_NAMED;
    options.find = find_place;
    options.write = write_out;
    options.context = session;
    options.images = session->images;
    status = log_output_open(&session->output, session->standard, session->options, name, &place, &input);
    if (place.folder >= 0) close(place.folder);
    if (status != EXIT_ALL_WELL) {
        log_input_close(&input);
        return status;
    }
    int created = usp_reader_create(&options, &reader);
    session->said = messages_end(session);
    status = created == USP_OK ? write_log(reader, &input, path, session) : log_fail(path, created);
    session->said_end = messages_end(session);
    int closed = log_output_close(&session->output, status == EXIT_ALL_WELL || status == EXIT_NO_TARGET);
    if (status == EXIT_ALL_WELL) status = closed;
    if (created == USP_OK) {
        usp_reader_get_counts(reader, &counts);
        log_counts_add(&session->counts, &counts);
        /* Of an input that could not be read at all, the reason was said. */
        const bool was_read = counts.frames > 0 || !input.has_failed;
        if (!session->options->is_quiet && was_read) log_counts_say(path, &counts);
        /* Frames whose image is unknown do not count as incomplete. */
        bool is_incomplete = counts.frames == 0 || counts.no_symbol + counts.no_file + counts.passed > 0;
        if (status == EXIT_ALL_WELL && session->options->is_strict && is_incomplete) status = EXIT_INCOMPLETE;
    }
    usp_reader_free(reader);
    log_names_trim(session->names);
    log_input_close(&input);
    return status;
}

/* Replaces a log, or with --follow the file that a link leads to. */
static int rewrite_named(struct session *session, const struct log_file_name *name) {
    const struct log_options *options = session->options;
    const bool is_path = options->is_in_place && options->follows && !name->is_found && strcmp(name->path, "-") != 0;
    if (!is_path) return rewrite_log(session, name);
    const struct log_file_name followed = {.path = realpath(name->path, NULL)};
    if (followed.path == NULL) return log_fail_to_read(name->path, errno);
    int status = rewrite_log(session, &followed);
    free(followed.path);
    return status;
}

/* ---- all logs ---- */

/* Implements log_job_function. */
static void rewrite_one(void *context, size_t number, struct log_standard *out, struct log_result *result) {
    struct session *session = context;
    session->standard = out;
    session->counts = (struct usp_reader_counts){.texts = 0};
    session->said = session->said_end = 0;
    result->status = rewrite_named(session, &session->files->names[number]);
    result->counts = session->counts;
    result->said = session->said;
    result->said_end = session->said_end;
    result->has_lines = log_names_have_lines(session->names, result->lineless, sizeof result->lineless);
}

/* A process ends: closing builds shows which indexes are damaged. */
static void end_process(void *context) {
    const struct session *session = context;
    log_names_free(session->names);
}

/* Implements log_done_function. */
static void add_result(void *context, size_t number, const struct log_result *result) {
    struct session *session = context;
    (void)number;
    log_counts_add(&session->counts, &result->counts);
    session->worst = log_worse(session->worst, result->status);
    session->has_lines = session->has_lines || result->has_lines;
    if (session->lineless[0] == '\0') memcpy(session->lineless, result->lineless, sizeof session->lineless);
}

/* Implements log_name_function. */
static const char *name_log(const void *context, size_t number) {
    const struct session *session = context;
    return session->files->names[number].path;
}

/* Rewrites the logs with several processes. */
static int rewrite_with_jobs(struct session *session, unsigned jobs) {
    const struct log_jobs wanted = {.run = rewrite_one,
                                    .end = end_process,
                                    .done = add_result,
                                    .name = name_log,
                                    .context = session,
                                    .logs = session->files->count,
                                    .processes = jobs};
    const int status = log_jobs_run(&wanted, &session->pool);
    return log_worse(session->worst, status);
}

static int rewrite_logs(struct session *session) {
    const struct log_options *options = session->options;
    struct log_file_names names = {.names = NULL};
    int result = EXIT_ALL_WELL;
    for (size_t i = 0; i < options->log_count; i++) result = log_worse(result, log_files_add(&names, options->logs[i]));
    gather_output();
    session->files = &names;
    const size_t jobs = options->jobs < names.count ? options->jobs : names.count;
    if (jobs > 1 && result != EXIT_FAILED) result = log_worse(result, rewrite_with_jobs(session, (unsigned)jobs));
    for (size_t i = 0; jobs <= 1 && result != EXIT_FAILED && i < names.count; i++) {
        result = log_worse(result, rewrite_named(session, &names.names[i]));
    }
    if (names.count > 1 && !options->is_quiet) log_counts_say("all", &session->counts);
    if (!options->is_quiet) log_files_say_links(&names);
    log_files_clear(&names);
    return result;
}

int symbolize_logs(const struct log_options *options) {
    struct log_standard standard = {.file = stdout};
    struct session session = {.options = options, .standard = &standard};
    struct usp_reader *images = NULL;
    struct log_search *search = NULL;
    struct fetch *fetch = NULL;
    int status = options->binary_images != NULL ? log_images_read(options->binary_images, &images) : EXIT_ALL_WELL;
    session.images = images;
    if (status == EXIT_ALL_WELL) status = open_shared_caches(options->caches, options->is_quiet);
    if (status == EXIT_ALL_WELL) status = fetch_create(&options->fetch, &fetch);
    if (status == EXIT_ALL_WELL) {
        status = log_search_create(options->search, options->search_count, fetch_cache(fetch), &search);
    }
    if (status == EXIT_ALL_WELL) {
        const struct log_names_options wanted = {.lines = options->lines,
                                                 .fetch = fetch,
                                                 .demangling = options->demangling,
                                                 .is_quiet = options->is_quiet || options->are_records};
        int created = log_names_create(search, &wanted, &session.names);
        if (created != USP_OK) status = log_fail("--search", created);
    }
    if (status == EXIT_ALL_WELL) {
        status = options->are_records ? symbolize_records(session.names) : rewrite_logs(&session);
        log_names_complain_of_lines(session.names);
        if (!session.has_lines && session.lineless[0] != '\0') complain("%s", session.lineless);
    }
    log_names_free(session.names);
    log_jobs_end(session.pool);
    log_search_free(search);
    fetch_free(fetch);
    usp_reader_free(images);
    return status;
}
