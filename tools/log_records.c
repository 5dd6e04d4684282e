/* SPDX-License-Identifier: MIT */
/* Implements log_records.h. A reader reads each record as a document. The answer is collected first, so that a damaged
 * record is answered only by an error. Files stay open from one record to the next. */
#include "tools/log_records.h"

#include "lib/base/array.h"
#include "lib/base/json.h"
#include "tools/command.h"
#include "tools/log_input.h"
#include "tools/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Number of bytes that are read at once. */
#define PIECE ((size_t)64 << 10)

/* Size in bytes above which a record's memory is freed after it. */
#define LONG_RECORD ((size_t)4 << 20)

struct bytes {
    char *bytes;
    size_t size, capacity;
};

struct session {
    struct log_names *names;
    struct usp_reader *reader;
    struct bytes answer;
};

static bool reserve(struct bytes *bytes, size_t more) {
    void *grown = uspi_array_reserve(bytes->bytes, &bytes->capacity, bytes->size + more, 1);
    if (grown == NULL) return false;
    bytes->bytes = grown;
    return true;
}

static int find_place(void *context, const struct usp_place *place, struct usp_answer *answer) {
    const struct session *session = context;
    return log_names_answer(session->names, place, answer);
}

static int gather(void *context, const char *bytes, size_t n) {
    struct session *session = context;
    if (!reserve(&session->answer, n)) return USP_ERROR_NO_MEMORY;
    memcpy(session->answer.bytes + session->answer.size, bytes, n);
    session->answer.size += n;
    return USP_OK;
}

static int create_reader(struct session *session) {
    struct usp_reader_options options;
    usp_reader_options_init(&options);
    options.flags = USP_READER_RECORD;
    options.find = find_place;
    options.write = gather;
    options.context = session;
    return usp_reader_create(&options, &session->reader);
}

/* Frees the memory of a long record, if there is memory for another reader. */
static void shrink(struct session *session) {
    struct usp_reader *reader = session->reader;
    if (create_reader(session) == USP_OK) {
        usp_reader_free(reader);
    } else {
        session->reader = reader;
    }
    free(session->answer.bytes);
    session->answer = (struct bytes){.bytes = NULL};
}

static void put_error(struct uspi_span record, const char *error) {
    char buffer[TEXT_ROOM];
    struct uspi_text text = uspi_text_through(write_to_file, stdout, buffer, sizeof buffer);
    uspi_put_string(&text, "{\"unspool\":{\"error\":\"");
    uspi_put_json_text(&text, uspi_span_of(error));
    uspi_put_string(&text, "\"},\"record\":\"");
    uspi_put_json_text(&text, record);
    uspi_put_string(&text, "\"}\n");
    uspi_text_flush(&text);
}

static void answer_record(struct session *session, struct uspi_span record) {
    char error[512] = "";
    record = uspi_span_trim(record);
    session->answer.size = 0;
    if (record.length == 0 || record.bytes[0] != '{') {
        put_error(record, "a record is a JSON object");
        return;
    }
    int status = usp_reader_write_whole(session->reader, record.bytes, record.length, error, sizeof error);
    if (status == USP_OK) {
        fwrite(session->answer.bytes, 1, session->answer.size, stdout);
        fputc('\n', stdout);
    } else {
        put_error(record, error[0] != '\0' ? error : usp_status_string(status));
    }
    log_names_trim(session->names);
    if (record.length > LONG_RECORD) shrink(session);
}

/* Answers the complete lines, at the end of the input also the last one, and removes them. The first *seen bytes
 * contain no line end. */
static void answer_lines(struct session *session, struct bytes *input, size_t *seen, bool is_end) {
    size_t begin = 0;
    for (const char *end;
         (end = input->size > *seen ? memchr(input->bytes + *seen, '\n', input->size - *seen) : NULL) != NULL;) {
        size_t at = (size_t)(end - input->bytes);
        answer_record(session, (struct uspi_span){input->bytes + begin, at - begin});
        *seen = begin = at + 1;
    }
    if (is_end && input->size > begin) {
        answer_record(session, (struct uspi_span){input->bytes + begin, input->size - begin});
        begin = input->size;
    }
    if (begin > 0) memmove(input->bytes, input->bytes + begin, input->size - begin);
    input->size -= begin;
    *seen = input->size;
    if (input->capacity > 2 * LONG_RECORD && input->size < LONG_RECORD / 2) {
        char *smaller = realloc(input->bytes, LONG_RECORD);
        if (smaller != NULL) *input = (struct bytes){smaller, input->size, LONG_RECORD};
    }
}

static int answer_input(struct session *session) {
    struct bytes input = {.bytes = NULL};
    size_t seen = 0;
    ssize_t got = 1;
    int result = EXIT_ALL_WELL;
    while (got > 0 && result == EXIT_ALL_WELL) {
        /* No further record is read after an answer could not be written; main reports the failure. */
        if (fflush(stdout) != 0 || ferror(stdout)) break;
        if (!reserve(&input, PIECE)) {
            complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
            result = EXIT_FAILED;
            break;
        }
        (void)log_skip_hole(STDIN_FILENO);
        do {
            got = read(STDIN_FILENO, input.bytes + input.size, PIECE);
        } while (got < 0 && errno == EINTR);
        if (got < 0) {
            complain("standard input: %s", strerror(errno));
            result = EXIT_NO_TARGET;
            break;
        }
        input.size += (size_t)got;
        answer_lines(session, &input, &seen, got == 0);
    }
    free(input.bytes);
    return result;
}

int symbolize_records(struct log_names *names) {
    struct session session = {.names = names};
    int status = create_reader(&session);
    if (status != USP_OK) {
        complain("%s", usp_status_string(status));
        return EXIT_FAILED;
    }
    gather_output();
    int result = answer_input(&session);
    usp_reader_free(session.reader);
    free(session.answer.bytes);
    return result;
}
