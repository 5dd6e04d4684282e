/* SPDX-License-Identifier: MIT */
/* Writes what the JSON forms of crash reports have in common. See report_crash.h. */
#include "lib/report/report_crash.h"

#include "lib/base/hash.h"

#define LINE_ROOM 4608u /* for a note: the kit's values, texts and messages fit */

void uspi_report_id(const struct uspi_report *report, uint8_t id[USPI_UUID_BYTES]) {
    const struct usp_snapshot_info *info = report->info;
    const char *program = info->program != NULL ? info->program : "";
    const uint64_t facts[] = {info->time, (uint64_t)info->pid, info->crashed_thread, info->thread_count,
                              uspi_hash_bytes(program, strlen(program))};
    uint64_t words[2] = {1, 2};
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++) {
        words[0] = uspi_mix(words[0], facts[i]);
        words[1] = uspi_mix(words[1], facts[i]);
    }
    for (unsigned i = 0; i < USPI_UUID_BYTES; i++) id[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    /* RFC 9562: version 8, variant 10. */
    id[6] = (uint8_t)((id[6] & 0xf) | 0x80);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

const char *uspi_report_program(const struct uspi_report *report) {
    return uspi_image_name(report->info->program, SIZE_MAX).bytes;
}

const char *uspi_report_system(const struct uspi_report *report) {
    const uint32_t os = report->info->os;
    return os == USP_OS_LINUX ? "Linux" : os == USP_OS_DARWIN ? "Darwin" : "";
}

const struct usp_snapshot_note *uspi_report_note(const struct uspi_report *report, size_t i) {
    return report->snapshot != NULL ? usp_snapshot_get_note(report->snapshot, i) : NULL;
}

/* A list that begins before its first element, so that it is not written without one. */
struct list {
    struct uspi_json *json;
    const char *key;
    bool has_begun;
};

/* Writes the line that `text` has put into `line` as the next element; nothing if it is empty. */
static void put_element(struct list *list, struct uspi_text *text, const char *line) {
    if (uspi_text_end(text) <= 0) return;
    if (!list->has_begun) uspi_json_begin_array(list->json, list->key);
    list->has_begun = true;
    uspi_json_string(list->json, NULL, line);
}

static void end_list(struct list *list) {
    if (list->has_begun) uspi_json_end_array(list->json);
}

static void put_notes(struct list *list, const struct uspi_report *report, uint32_t kind) {
    const struct usp_snapshot_note *note;
    char line[LINE_ROOM];
    for (size_t i = 0; (note = uspi_report_note(report, i)) != NULL; i++) {
        if (note->kind != kind) continue;
        struct uspi_text text = uspi_text_in(line, sizeof line);
        uspi_put_string(&text, note->key);
        if (note->key[0] != '\0') uspi_put(&text, ": ", 2);
        uspi_put_string(&text, note->text);
        put_element(list, &text, line);
    }
}

void uspi_report_put_notes(struct uspi_json *json, const struct uspi_report *report, uint32_t kind, const char *key) {
    struct list list = {.json = json, .key = key};
    put_notes(&list, report, kind);
    end_list(&list);
}

void uspi_report_put_locks(struct uspi_json *json, const struct uspi_report *report) {
    struct list list = {.json = json, .key = "locks"};
    char line[256];
    for (size_t i = 0; uspi_report_thread(report, i) != NULL; i++) {
        struct uspi_text text = uspi_text_in(line, sizeof line);
        uspi_report_put_lock(&text, report, i);
        put_element(&list, &text, line);
    }
    end_list(&list);
}

void uspi_report_put_gaps(struct uspi_json *json, const struct uspi_report *report, const char *key) {
    struct list list = {.json = json, .key = key};
    const struct usp_snapshot_thread *thread;
    char line[128];
    put_notes(&list, report, USP_NOTE_RECORDER);
    for (size_t i = 0; (thread = uspi_report_thread(report, i)) != NULL; i++) {
        if (thread->status != USP_OK || thread->stack.omitted == 0) continue;
        struct uspi_text text = uspi_text_in(line, sizeof line);
        uspi_put_string(&text, "thread ");
        uspi_put_decimal(&text, i, 0);
        uspi_put_string(&text, ": ");
        uspi_put_decimal(&text, thread->stack.omitted, 0);
        uspi_put_string(&text, " frames are left out");
        if (thread->stack.omitted_at != USP_NO_INDEX) uspi_put_string(&text, " before frame ");
        if (thread->stack.omitted_at != USP_NO_INDEX) uspi_put_decimal(&text, thread->stack.omitted_at, 0);
        put_element(&list, &text, line);
    }
    end_list(&list);
}
