/* SPDX-License-Identifier: MIT */
/* Writes a model as a page for browsers: one file, which refers to no other and has no scripts. Each thread is a fold,
 * of which those that crashed are open. All text of the report goes through one escaping text. */
#include "lib/report/read/model_state.h"
#include "lib/report/read/translated.h"
#include "lib/report/read/xml.h"

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>";
static const char style[] =
    "</title>\n<style>\n"
    ":root { color-scheme: light dark; --quiet: #6a737d; --line: #8884; --crash: #c62828; }\n"
    "@media (prefers-color-scheme: dark) { :root { --quiet: #9aa4ae; --crash: #ff8a80; } }\n"
    "body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5em auto; max-width: 90em; padding: 0 1em; }\n"
    "pre, td { font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; }\n"
    "pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.5em 0; }\n"
    "h1 { font-size: 1.3em; }\n"
    "summary { cursor: pointer; padding: 0.35em 0; border-top: 1px solid var(--line); }\n"
    "summary small, .system, .source { color: var(--quiet); }\n"
    ".crashed > summary b { color: var(--crash); }\n"
    "table { border-collapse: collapse; margin: 0 0 1em; }\n"
    "td { padding: 0.1em 1em 0.1em 0; vertical-align: top; }\n"
    "td:nth-child(1) { color: var(--quiet); text-align: right; }\n"
    "td:nth-child(4) { overflow-wrap: anywhere; }\n"
    ".heavy { font-weight: bold; }\n"
    "@media print { details:not([open]) > summary { break-after: avoid; } }\n"
    "</style>\n</head>\n<body>\n";

struct page {
    const struct uspi_model *model;
    const struct usp_report_options *selection;
    struct uspi_text *markup;
    struct uspi_text text; /* escapes what it passes on to `markup` */
    char buffer[512];
};

/* Writes markup after the text so far. */
static void put_markup(struct page *page, const char *markup) {
    uspi_text_flush(&page->text);
    uspi_put_string(page->markup, markup);
}

static void put_harmless(struct page *page, struct uspi_span span) { uspi_put_harmless(&page->text, span, ""); }

/* ---- frames ---- */

/* Begins a row with the classes of a frame. */
static void begin_row(struct page *page, const struct uspi_model_frame *frame, bool is_node) {
    const bool is_heavy = is_node && (frame->flags & USPI_MODEL_HEAVIEST) != 0;
    put_markup(page, frame->code->is_system && is_heavy ? "<tr class=\"system heavy\"><td>"
                     : frame->code->is_system           ? "<tr class=\"system\"><td>"
                     : is_heavy                         ? "<tr class=\"heavy\"><td>"
                                                        : "<tr><td>");
}

/* Writes a row: a number, the image, the address, the function, the source line. `level`: how far a node of a tree is
 * indented. */
static void put_row(struct page *page, const struct uspi_model_frame *frame, size_t which, uint64_t number,
                    uint32_t level) {
    const struct uspi_model *model = page->model;
    begin_row(page, frame, (frame->flags & USPI_FRAME_NODE) != 0);
    uspi_put_decimal(&page->text, number, 0);
    put_markup(page, "</td><td>");
    put_harmless(page, frame->code->image.length > 0 ? frame->code->image : USPI_SPAN("???"));
    put_markup(page, "</td><td>");
    uspi_translate_address(&page->text, frame);
    put_markup(page, level > 0 ? "</td><td style=\"padding-left:" : "</td><td>");
    if (level > 0) {
        uspi_put_decimal(&page->text, level < USPI_LEVELS_SHOWN ? level : USPI_LEVELS_SHOWN, 0);
        put_markup(page, "em\">");
    }
    uspi_translate_function(&page->text, model, frame, which);
    put_markup(page, "</td>");
    const struct uspi_model_source *source =
        frame->code->source_count > 0 ? &model->sources[frame->code->source + which] : NULL;
    if (source != NULL && source->file.length > 0) {
        put_markup(page, "<td class=\"source\" title=\"");
        put_harmless(page, source->directory);
        if (source->directory.length > 0) uspi_put_string(&page->text, "/");
        put_harmless(page, source->file);
        put_markup(page, "\">");
        uspi_translate_line(&page->text, source);
        put_markup(page, "</td>");
    }
    put_markup(page, "</tr>\n");
}

/* Writes how many frames were left out, and begins to count anew. */
static void put_left_out(struct page *page, size_t *count) {
    if (*count == 0) return;
    put_markup(page, "<tr class=\"system\"><td></td><td colspan=\"4\">");
    uspi_put_decimal(&page->text, *count, 0);
    put_markup(page, *count == 1 ? " frame of the system</td></tr>\n" : " frames of the system</td></tr>\n");
    *count = 0;
}

static void put_frames(struct page *page, const struct uspi_model_thread *thread) {
    size_t left_out = 0;
    put_markup(page, "<table>\n");
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct uspi_model_frame *frame = &page->model->frames[thread->frame + i];
        const bool is_node = (frame->flags & USPI_FRAME_NODE) != 0;
        if (!uspi_shows_frame(page->selection, frame)) {
            left_out += !is_node;
            continue;
        }
        put_left_out(page, &left_out);
        if (is_node) {
            const size_t last = frame->code->source_count > 0 ? frame->code->source_count - 1 : 0;
            put_row(page, frame, last, frame->count, thread->is_stack ? 0 : frame->depth);
            continue;
        }
        for (size_t which = 0; which == 0 || which < frame->code->source_count; which++)
            put_row(page, frame, which, i, 0);
    }
    put_left_out(page, &left_out);
    put_markup(page, "</table>\n");
}

/* ---- threads ---- */

static void put_thread(struct page *page, const struct uspi_model_thread *thread, bool is_open) {
    const bool has_crashed = (thread->flags & USPI_THREAD_CRASHED) != 0;
    put_markup(page, has_crashed ? "<details class=\"crashed\"" : "<details");
    put_markup(page, is_open ? " open><summary><b>" : "><summary><b>");
    uspi_translate_title(&page->text, thread);
    put_markup(page, "</b> ");
    if (uspi_translate_name(&page->text, thread)) uspi_put_string(&page->text, " ");
    put_markup(page, "<small>");
    uspi_put_decimal(&page->text, thread->frame_count, 0);
    const bool is_tree = (thread->flags & USPI_THREAD_TREE) != 0;
    uspi_put_string(&page->text, is_tree ? " node" : " frame");
    if (thread->frame_count != 1) uspi_put_string(&page->text, "s");
    put_markup(page, "</small></summary>\n");
    put_frames(page, thread);
    if (has_crashed && thread->register_count > 0) {
        put_markup(page, "<pre>");
        uspi_state_put(&page->text, page->model, thread);
        put_markup(page, "</pre>\n");
    }
    put_markup(page, "</details>\n");
}

/* Opens stacks that are not threads and the threads that crashed; where there are none, the first thread. */
static void put_threads(struct page *page, const struct uspi_model_part *part) {
    bool has_open = false;
    for (unsigned rank = 0; rank < USPI_RANKS; rank++) {
        for (size_t i = 0; i < part->thread_count; i++) {
            const struct uspi_model_thread *thread = &page->model->threads[part->thread + i];
            if (uspi_translate_rank(thread) != rank || !uspi_shows_thread(page->selection, thread)) continue;
            put_thread(page, thread, rank + 1 < USPI_RANKS || !has_open);
            has_open = true;
        }
    }
}

static void put_images(struct page *page, const struct uspi_model_part *part) {
    size_t count = 0;
    for (size_t i = 0; i < part->image_count; i++) {
        const struct uspi_image_entry *image = &page->model->images[part->image + i];
        if (image->first == 0 && image->last == 0) continue;
        if (count++ == 0) put_markup(page, "<details><summary><b>Binary Images</b></summary>\n<pre>");
        uspi_translate_image(&page->text, image);
    }
    if (count > 0) put_markup(page, "</pre>\n</details>\n");
}

/* ---- the page ---- */

/* Writes what the report is of: the process, and why it ended. */
static void put_title(struct page *page, const struct uspi_model_part *part) {
    const struct uspi_span process = part->fields[USPI_FIELD_PROCESS], why = part->fields[USPI_FIELD_EXCEPTION_TYPE],
                           event = part->fields[USPI_FIELD_EVENT];
    put_harmless(page, process.length > 0 ? process : USPI_SPAN("Report"));
    if (part->fields[USPI_FIELD_PROCESS_ID].length > 0) {
        uspi_put_string(&page->text, " [");
        put_harmless(page, part->fields[USPI_FIELD_PROCESS_ID]);
        uspi_put_string(&page->text, "]");
    }
    if (why.length == 0 && event.length == 0) return;
    uspi_put_string(&page->text, ": ");
    put_harmless(page, why.length > 0 ? why : event);
}

static bool is_shown(const struct uspi_model_part *part) { return part->thread_count > 0 || part->process_count > 0; }

static void put_part(struct page *page, const struct uspi_model_part *part) {
    put_markup(page, "<section>\n<h1>");
    put_title(page, part);
    put_markup(page, "</h1>\n<pre>");
    uspi_translate_header(&page->text, part);
    uspi_model_put_processes(page->model, part, &page->text);
    put_markup(page, "</pre>\n");
    put_threads(page, part);
    put_images(page, part);
    put_markup(page, "</section>\n");
}

void uspi_model_put_html(const struct uspi_model *model, const struct usp_report_options *selection,
                         struct uspi_text *out) {
    struct page page = {.model = model, .selection = selection, .markup = out};
    const struct uspi_model_part *first = NULL;
    page.text = uspi_text_through(uspi_xml_escape, out, page.buffer, sizeof page.buffer);
    for (size_t i = 0; first == NULL && i < model->part_count; i++) {
        if (is_shown(&model->parts[i])) first = &model->parts[i];
    }
    put_markup(&page, head);
    if (first != NULL) put_title(&page, first);
    put_markup(&page, style);
    for (size_t i = 0; i < model->part_count; i++) {
        if (is_shown(&model->parts[i])) put_part(&page, &model->parts[i]);
    }
    put_markup(&page, "</body>\n</html>\n");
}
