/* SPDX-License-Identifier: MIT */
/* Reads and shows JetsamEvent reports: which processes the system ended because memory was low, and what each used.
 *
 * Source: Apple, "Identifying high-memory use with jetsam event reports". */
#include "lib/base/array.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/model.h"
#include "lib/report/read/model_fields.h"

/* ---- reading ---- */

/* Joins the strings of an array by ", ". */
static bool copy_states(struct uspi_model *model, const struct uspi_json_document *document, size_t list,
                        struct uspi_span *copy) {
    char room[256];
    size_t used = 0;
    if (list == USPI_JSON_NONE || document->nodes[list].kind != USPI_JSON_ARRAY) return true;
    for (size_t i = list + 1; i < document->nodes[list].next; i = document->nodes[i].next) {
        const struct uspi_span state = uspi_json_text(document, i);
        if (document->nodes[i].kind != USPI_JSON_STRING || state.length + 2 > sizeof room - used) continue;
        if (used > 0) {
            room[used++] = ',';
            room[used++] = ' ';
        }
        if (state.length > 0) memcpy(room + used, state.bytes, state.length);
        used += state.length;
    }
    return uspi_model_copy_text(model, (struct uspi_span){room, used}, copy);
}

static bool take_process(struct uspi_model *model, const struct uspi_json_document *document, size_t node) {
    const struct uspi_json_object object = {.document = document, .node = node};
    uint64_t pages;
    if (!uspi_member_uint(&object, USPI_SPAN("rpages"), &pages)) return true;
    if (!uspi_room_for(&model->processes, &model->process_capacity, model->process_count, 1,
                       sizeof *model->processes)) {
        return false;
    }
    struct uspi_model_process *process = &model->processes[model->process_count++];
    *process = (struct uspi_model_process){.pages = pages};
    model->parts[model->part_count - 1].process_count++;
    uspi_member_uint(&object, USPI_SPAN("pid"), &process->pid);
    uspi_member_uint(&object, USPI_SPAN("lifetimeMax"), &process->peak_pages);
    if (!uspi_member_uint(&object, USPI_SPAN("memoryLimit"), &process->limit_pages)) {
        uspi_member_uint(&object, USPI_SPAN("limit"), &process->limit_pages);
    }
    return uspi_model_copy_text(model, uspi_member_text(&object, USPI_SPAN("name")), &process->name) &&
           uspi_model_copy_text(model, uspi_member_text(&object, USPI_SPAN("reason")), &process->reason) &&
           copy_states(model, document, uspi_json_member(document, node, USPI_SPAN("states")), &process->states);
}

bool uspi_model_take_processes(struct uspi_model *model, const struct uspi_json_document *document) {
    const size_t memory = uspi_json_member(document, 0, USPI_SPAN("memoryStatus"));
    const size_t list = uspi_json_member(document, 0, USPI_SPAN("processes"));
    if (memory == USPI_JSON_NONE || list == USPI_JSON_NONE || document->nodes[list].kind != USPI_JSON_ARRAY)
        return true;
    const struct uspi_json_object status = {.document = document, .node = memory};
    const struct uspi_json_object report = {.document = document, .node = 0};
    struct uspi_model_part *part = &model->parts[model->part_count - 1];
    part->format = "jetsam";
    uspi_member_uint(&status, USPI_SPAN("pageSize"), &part->page_size);
    const struct uspi_span largest = uspi_member_text(&report, USPI_SPAN("largestProcess"));
    if (!uspi_model_set_field(model, USPI_FIELD_LARGEST_PROCESS, largest) ||
        !uspi_model_set_field(model, USPI_FIELD_EVENT, USPI_SPAN("memory was low (jetsam)"))) {
        return false;
    }
    for (size_t i = list + 1; i < document->nodes[list].next; i = document->nodes[i].next) {
        if (!take_process(model, document, i)) return false;
    }
    return true;
}

/* ---- showing ---- */

static void put_size(struct uspi_text *out, const struct uspi_model_part *part, uint64_t pages) {
    uspi_put_decimal(out, pages, 0);
    uspi_put_string(out, " pages");
    if (part->page_size == 0 || pages > UINT64_MAX / part->page_size) return;
    uspi_put_string(out, " (");
    uspi_put_decimal(out, (pages * part->page_size) >> 20, 0);
    uspi_put_string(out, " MB)");
}

static void put_process(struct uspi_text *out, const struct uspi_model_part *part,
                        const struct uspi_model_process *process) {
    put_size(out, part, process->pages);
    uspi_put_string(out, "  ");
    uspi_put_harmless(out, process->name, "");
    uspi_put_string(out, " [");
    uspi_put_decimal(out, process->pid, 0);
    uspi_put_string(out, "]");
    if (process->states.length > 0) {
        uspi_put_string(out, " (");
        uspi_put_harmless(out, process->states, "");
        uspi_put_string(out, ")");
    }
    const struct {
        const char *label;
        uint64_t pages;
    } more[] = {{", at most ", process->peak_pages}, {", limit ", process->limit_pages}};
    for (size_t i = 0; i < 2; i++) {
        if (more[i].pages == 0) continue;
        uspi_put_string(out, more[i].label);
        uspi_put_decimal(out, more[i].pages, 0);
        uspi_put_string(out, " pages");
    }
    if (process->reason.length > 0) {
        uspi_put_string(out, ", killed: ");
        uspi_put_harmless(out, process->reason, "");
    }
    uspi_put_string(out, "\n");
}

/* Writes the processes with a reason, or those without. */
static void put_those(struct uspi_text *out, const struct uspi_model *model, const struct uspi_model_part *part,
                      bool were_killed, const char *heading) {
    bool has_heading = false;
    for (size_t i = part->process; i < part->process + part->process_count; i++) {
        if ((model->processes[i].reason.length > 0) != were_killed) continue;
        if (!has_heading) uspi_put_string(out, heading);
        has_heading = true;
        put_process(out, part, &model->processes[i]);
    }
    if (has_heading) uspi_put_string(out, "\n");
}

void uspi_model_put_processes(const struct uspi_model *model, const struct uspi_model_part *part,
                              struct uspi_text *out) {
    put_those(out, model, part, true, "Killed:\n");
    put_those(out, model, part, false, "Other processes:\n");
}
