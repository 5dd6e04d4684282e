/* SPDX-License-Identifier: MIT */
/* Writes a flame graph as one SVG file: each branch of the call tree is a box as wide as its share, above its caller's.
 * A box's tooltip has its share and source lines. The file has a script to zoom (click a box), search (Ctrl+F, or the
 * word "Search") and show details; without scripts it is a static picture. */
#include "lib/base/path.h"
#include "lib/profile/writers.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH  1200u
#define MARGIN 10u
#define ROW    17u
#define ABOVE  58u
#define BELOW  28u
/* Width of a character in the font below, in tenths of a pixel. */
#define CHARACTER 66u
/* Minimum width of a box, in thousandths of a pixel: narrower ones cannot be seen. */
#define NARROWEST 100u

static const char style[] = "text{font:11px DejaVu Sans Mono,Menlo,Consolas,monospace;fill:#1a1a1a}\n"
                            "#title{font-size:16px;text-anchor:middle}\n"
                            ".f text{pointer-events:none}\n"
                            ".f rect{stroke:#fff;stroke-width:.5}\n"
                            ".f:hover rect{stroke:#000;cursor:pointer}\n"
                            ".hit rect{fill:#e040fb!important}\n"
                            ".off{display:none}\n"
                            ".link{cursor:pointer;text-decoration:underline}\n";

/* A box has its left edge and width as fractions of the whole (data-x, data-w), and its depth (data-d). The box that is
 * zoomed to and its callers fill the width; boxes beside it are hidden. */
static const char script[] =
    "'use strict';\n"
    "var boxes, whole, left, shown = [0, 1];\n"
    "function name(box) {\n"
    "  var t = box.firstElementChild.textContent, m = t.match(/^([^]*) \\([0-9.]+ (samples?|ms)/);\n"
    "  return m !== null ? m[1] : t;\n"
    "}\n"
    "function fit(text, width) {\n"
    "  var room = Math.floor((width - 4) / 6.6), all = Array.from(text);\n"
    "  return room >= all.length ? text : room < 4 ? '' : all.slice(0, room - 2).join('') + '..';\n"
    "}\n"
    "function draw(x, w) {\n"
    "  shown = [x, w];\n"
    "  boxes.forEach(function (box) {\n"
    "    var a = (+box.dataset.x - x) / w, b = a + +box.dataset.w / w, gone = b <= 1e-9 || a >= 1 - 1e-9;\n"
    "    a = Math.max(a, 0); b = Math.min(b, 1);\n"
    "    gone = gone || (b - a) * whole < 0.1;\n"
    "    box.classList.toggle('off', gone);\n"
    "    if (gone) return;\n"
    "    var rect = box.children[1], label = box.children[2];\n"
    "    rect.setAttribute('x', left + a * whole); rect.setAttribute('width', (b - a) * whole);\n"
    "    label.setAttribute('x', left + a * whole + 3); label.textContent = fit(name(box), (b - a) * whole);\n"
    "  });\n"
    "  document.getElementById('reset').classList.toggle('off', x === 0 && w === 1);\n"
    "}\n"
    "function search(what) {\n"
    "  var found = [], sum = 0, end = -1, pattern;\n"
    "  try { pattern = what ? new RegExp(what, 'i') : null; } catch (e) { pattern = null; }\n"
    "  boxes.forEach(function (box) {\n"
    "    var hit = pattern !== null && pattern.test(name(box));\n"
    "    box.classList.toggle('hit', hit);\n"
    "    if (hit) found.push([+box.dataset.x, +box.dataset.x + +box.dataset.w]);\n"
    "  });\n"
    "  found.sort(function (a, b) { return a[0] - b[0]; });\n"
    "  found.forEach(function (f) { if (f[1] > end) { sum += f[1] - Math.max(f[0], end); end = f[1]; } });\n"
    "  document.getElementById('found').textContent = pattern ? found.length + ' boxes, ' + (100 * sum).toFixed(2) + "
    "'%' : "
    "'';\n"
    "}\n"
    "function ask() { var what = prompt('Search for (a regular expression):', ''); if (what !== null) search(what); }\n"
    "function begin() {\n"
    "  var svg = document.documentElement, details = document.getElementById('details');\n"
    "  boxes = Array.from(document.querySelectorAll('.f'));\n"
    "  whole = +svg.dataset.whole; left = +svg.dataset.left;\n"
    "  boxes.forEach(function (box) {\n"
    "    box.addEventListener('click', function () { draw(+box.dataset.x, +box.dataset.w); });\n"
    "    box.addEventListener('mouseover', function () { details.textContent = box.firstElementChild.textContent; });\n"
    "    box.addEventListener('mouseout', function () { details.textContent = ''; });\n"
    "  });\n"
    "  document.getElementById('reset').addEventListener('click', function () { draw(0, 1); });\n"
    "  document.getElementById('search').addEventListener('click', ask);\n"
    "  window.addEventListener('keydown', function (e) {\n"
    "    if (e.key === 'F3' || ((e.ctrlKey || e.metaKey) && e.key === 'f')) { e.preventDefault(); ask(); }\n"
    "  });\n"
    "  if (location.hash.length > 1) search(decodeURIComponent(location.hash.slice(1)));\n"
    "}\n"
    "window.addEventListener('load', begin);\n";

struct svg {
    struct uspi_writing *writing;
    struct uspi_branches branches;
    uint64_t *starts;    /* for each branch the value at its left edge */
    uint32_t rows;       /* number of rows with a visible box */
    uint64_t too_narrow; /* number of boxes that cannot be seen */
};

/* Puts text between tags or into an attribute. XML cannot represent control characters, U+FFFE and U+FFFF. */
static void put_xml(struct uspi_text *text, const char *string) {
    while (*string != '\0') {
        size_t n = strcspn(string, "<>&\"\xef");
        uspi_put_harmless(text, (struct uspi_span){string, n}, "");
        string += n;
        uint32_t character = 0;
        switch (*string) {
        case '\0': return;
        case '<': uspi_put_string(text, "&lt;"); break;
        case '>': uspi_put_string(text, "&gt;"); break;
        case '&': uspi_put_string(text, "&amp;"); break;
        case '"': uspi_put_string(text, "&quot;"); break;
        default:
            n = uspi_utf8_decode(string, strlen(string), &character);
            if (character >= 0xfffe) character = 0;
            if (character == 0) n = 1;
            if (character != 0) uspi_put(text, string, n);
            if (character == 0) uspi_put_string(text, "\\xef");
            string += n;
            continue;
        }
        string++;
    }
}

/* Puts a number that is given in thousandths. */
static void put_thousandths(struct uspi_text *text, uint64_t value) {
    const char digits[] = {'.', (char)('0' + value / 100 % 10), (char)('0' + value / 10 % 10),
                           (char)('0' + value % 10)};
    uspi_put_decimal(text, value / 1000, 0);
    uspi_put(text, digits, sizeof digits);
}

/* Returns part / whole in units of 1 / steps, rounded down. */
static uint64_t scaled(uint64_t part, uint64_t whole, uint64_t steps) {
    return whole == 0 ? 0 : (uint64_t)((double)part / (double)whole * (double)steps);
}

/* Puts part / whole with nine decimals: adjacent boxes also have adjacent numbers. */
static void put_part(struct uspi_text *text, uint64_t part, uint64_t whole) {
    uint64_t value = scaled(part, whole, 1000000000);
    char digits[10] = {'.'};
    uspi_put_decimal(text, value / 1000000000, 0);
    for (unsigned i = 9; i > 0; i--, value /= 10) digits[i] = (char)('0' + value % 10);
    uspi_put(text, digits, sizeof digits);
}

/* Puts a pale colour: one hue for each image, slightly lighter or darker for each function. */
static void put_colour(const struct svg *svg, const struct uspi_branch *branch) {
    static const uint8_t hues[][3] = {{250, 172, 120}, {250, 205, 110}, {190, 214, 120}, {140, 210, 160},
                                      {130, 205, 215}, {150, 185, 240}, {195, 170, 240}, {240, 165, 205}};
    struct uspi_text *text = &svg->writing->text;
    uint64_t hue = 0, shade = 0;
    if (branch->function == USPI_NONE) {
        uspi_put_string(text, "#d8d8d8");
        return;
    }
    const struct uspi_function *function = uspi_function(&svg->writing->names, branch->function);
    for (const char *c = uspi_profile_image_name(svg->writing->profile, function->image); *c != '\0'; c++) {
        hue = uspi_mix(hue, (uint8_t)*c);
    }
    for (const char *c = function->text; *c != '\0'; c++) shade = uspi_mix(shade, (uint8_t)*c);
    uint8_t rgb[3];
    for (unsigned i = 0; i < 3; i++) {
        rgb[i] = (uint8_t)(hues[hue % (sizeof hues / sizeof *hues)][i] - shade % 25);
    }
    uspi_put(text, "#", 1);
    uspi_put_bytes(text, rgb, sizeof rgb);
}

static void put_name(const struct svg *svg, const struct uspi_branch *branch, char *buffer, size_t size) {
    struct uspi_text name = uspi_text_in(buffer, size);
    if (branch->thread != USPI_NONE) {
        const struct uspi_profile_thread *thread = uspi_profile_thread(svg->writing->profile, branch->thread);
        bool with_id = (svg->writing->options.flags & USP_PROFILE_NATIVE_IDS) != 0;
        uspi_put_profile_thread(&name, &thread->info, with_id);
    } else {
        uspi_put_string(&name, uspi_branch_text(&svg->branches, branch));
    }
    uspi_text_end(&name);
}

/* Puts as much of a name as fits into a box. The script does the same when it zooms. */
static void put_label(struct uspi_text *text, const char *name, uint64_t width) {
    size_t capacity = width > 4000 ? (size_t)((width - 4000) / (CHARACTER * 100)) : 0, n = 0, cut = 0, characters = 0;
    while (name[n] != '\0' && characters <= capacity) {
        uint32_t character;
        size_t length = uspi_utf8_decode(name + n, strlen(name + n), &character);
        n += length > 0 ? length : 1;
        characters++;
        if (characters + 2 == capacity) cut = n;
    }
    if (characters <= capacity && name[n] == '\0') {
        put_xml(text, name);
    } else if (capacity >= 4) {
        char part[512];
        if (cut >= sizeof part) cut = sizeof part - 1;
        memcpy(part, name, cut);
        part[cut] = '\0';
        put_xml(text, part);
        uspi_put_string(text, "..");
    }
}

static const char *unit_of(uint32_t value) {
    return value == USP_PROFILE_SAMPLES ? "samples" : value == USP_PROFILE_WALL ? "ms" : "ms on a processor";
}

static void put_amount(struct uspi_text *text, uint32_t value, uint64_t amount) {
    if (value == USP_PROFILE_SAMPLES) {
        uspi_put_decimal(text, amount, 0);
    } else {
        put_thousandths(text, amount / 1000);
    }
    uspi_put(text, " ", 1);
    uspi_put_string(text, value == USP_PROFILE_SAMPLES && amount == 1 ? "sample" : unit_of(value));
}

/* Puts the source lines of a branch, which are known only if lines were requested: ", shop.c:12, shop.c:20, ...". */
static void put_places(const struct svg *svg, const struct uspi_branch *branch) {
    struct uspi_text *text = &svg->writing->text;
    const struct uspi_profile_names *names = &svg->writing->names;
    if (branch->function == USPI_NONE) return;
    const struct uspi_located_function *before = NULL;
    for (uint32_t i = 0; i < branch->place_count && i < USPI_BRANCH_PLACES; i++) {
        const struct uspi_located_function *place = &names->places[branch->places[i]];
        if (place->file == NULL || place->line == 0) continue;
        if (before != NULL && before->line == place->line && strcmp(before->file, place->file) == 0) continue;
        before = place;
        uspi_put_string(text, ", ");
        put_xml(text, uspi_last_component(place->file));
        uspi_put(text, ":", 1);
        uspi_put_decimal(text, place->line, 0);
    }
    if (before != NULL && branch->place_count > USPI_BRANCH_PLACES) uspi_put_string(text, ", ...");
}

static void put_box(struct svg *svg, const struct uspi_branch *branch, uint64_t start) {
    struct uspi_text *text = &svg->writing->text;
    const uint64_t all = svg->branches.all, whole = (uint64_t)(WIDTH - 2 * MARGIN) * 1000;
    const uint64_t x = scaled(start, all, whole), width = scaled(branch->all, all, whole);
    const uint32_t y = ABOVE + (svg->rows - 1 - branch->depth) * ROW;
    char name[1024];
    put_name(svg, branch, name, sizeof name);
    uspi_put_string(text, "<g class=\"f\" data-x=\"");
    put_part(text, start, all);
    uspi_put_string(text, "\" data-w=\"");
    put_part(text, branch->all, all);
    uspi_put_string(text, "\" data-d=\"");
    uspi_put_decimal(text, branch->depth, 0);
    uspi_put_string(text, "\"><title>");
    put_xml(text, name);
    uspi_put_string(text, " (");
    put_amount(text, svg->writing->options.value, branch->all);
    uspi_put_string(text, ", ");
    put_thousandths(text, scaled(branch->all, all, 100000));
    uspi_put(text, "%", 1);
    put_places(svg, branch);
    uspi_put_string(text, ")</title><rect x=\"");
    put_thousandths(text, MARGIN * 1000 + x);
    uspi_put_string(text, "\" y=\"");
    uspi_put_decimal(text, y, 0);
    uspi_put_string(text, "\" width=\"");
    put_thousandths(text, width);
    uspi_put_string(text, "\" height=\"16\" style=\"fill:");
    put_colour(svg, branch);
    uspi_put_string(text, "\"/><text x=\"");
    put_thousandths(text, (MARGIN + 3) * 1000 + x);
    uspi_put_string(text, "\" y=\"");
    uspi_put_decimal(text, y + 12, 0);
    uspi_put_string(text, "\">");
    put_label(text, name, width);
    uspi_put_string(text, "</text></g>\n");
}

/* ---- the page ---- */

static void put_number_attribute(struct uspi_text *text, const char *before, uint64_t value) {
    uspi_put_string(text, before);
    uspi_put_decimal(text, value, 0);
}

static void put_comment(void *context, const char *line) {
    struct uspi_text *text = context;
    uspi_put_string(text, "<desc>");
    put_xml(text, line);
    uspi_put_string(text, "</desc>\n");
}

static void put_text_at(struct uspi_text *text, const char *attributes, uint32_t x, uint32_t y, const char *string) {
    uspi_put_string(text, "<text ");
    uspi_put_string(text, attributes);
    put_number_attribute(text, " x=\"", x);
    put_number_attribute(text, "\" y=\"", y);
    uspi_put_string(text, "\">");
    put_xml(text, string);
    uspi_put_string(text, "</text>\n");
}

/* Writes the title: "app: 86 samples in 1.234 s, widths in samples". */
static void describe(const struct svg *svg, char *buffer, size_t size) {
    const struct usp_profile *profile = svg->writing->profile;
    struct uspi_text text = uspi_text_in(buffer, size);
    uint64_t samples = 0;
    for (uint32_t i = 0; i < profile->totals.begun; i++) samples += uspi_total(profile, i)->samples;
    uspi_put_string(&text, uspi_profile_title(svg->writing));
    uspi_put_string(&text, ": ");
    put_amount(&text, USP_PROFILE_SAMPLES, samples);
    if (profile->run.end > profile->run.start) {
        uspi_put_string(&text, " in ");
        put_thousandths(&text, (profile->run.end - profile->run.start) / 1000000);
        uspi_put_string(&text, " s");
    }
    uspi_put_string(&text, ", widths in ");
    uspi_put_string(&text, unit_of(svg->writing->options.value));
    uspi_text_end(&text);
}

static void put_head(const struct svg *svg) {
    struct uspi_text *text = &svg->writing->text;
    const uint32_t height = ABOVE + svg->rows * ROW + BELOW;
    char title[512];
    describe(svg, title, sizeof title);
    uspi_put_string(
        text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\"");
    put_number_attribute(text, " width=\"", WIDTH);
    put_number_attribute(text, "\" height=\"", height);
    put_number_attribute(text, "\" viewBox=\"0 0 ", WIDTH);
    put_number_attribute(text, " ", height);
    put_number_attribute(text, "\" data-left=\"", MARGIN);
    put_number_attribute(text, "\" data-whole=\"", WIDTH - 2 * MARGIN);
    uspi_put_string(text, "\">\n<title>");
    put_xml(text, title);
    uspi_put_string(text, "</title>\n");
    uspi_profile_describe_run(svg->writing->profile, put_comment, text);
    uspi_put_string(text, "<style>");
    uspi_put_string(text, style);
    uspi_put_string(text, "</style>\n<script><![CDATA[\n");
    uspi_put_string(text, script);
    uspi_put_string(text, "]]></script>\n<rect id=\"page\" width=\"100%\" height=\"100%\" style=\"fill:#fcfcf7\"/>\n");
    put_text_at(text, "id=\"title\"", WIDTH / 2, 24, title);
    put_text_at(text, "id=\"reset\" class=\"link off\"", MARGIN, 44, "Reset zoom");
    put_text_at(text, "id=\"search\" class=\"link\"", WIDTH - 60, 24, "Search");
    put_text_at(text, "id=\"found\" text-anchor=\"end\"", WIDTH - MARGIN, 44, "");
    put_text_at(text, "id=\"details\"", MARGIN, height - 10, "");
}

/* Computes the left edges and the number of rows. A branch begins where its previous sibling ends; the first one begins
 * where its caller does. */
static void place(struct svg *svg) {
    const uint64_t whole = (uint64_t)(WIDTH - 2 * MARGIN) * 1000;
    uint64_t roots = 0;
    for (uint32_t i = svg->branches.first; i != USPI_NONE; i = uspi_branch_next(&svg->branches, i)) {
        const struct uspi_branch *branch = uspi_branch(&svg->branches, i);
        uint64_t start = svg->starts[i];
        if (branch->parent == USPI_NONE) {
            start = svg->starts[i] = roots;
            roots += branch->all;
        }
        for (uint32_t k = branch->first; k != USPI_NONE; k = uspi_branch(&svg->branches, k)->next) {
            svg->starts[k] = start;
            start += uspi_branch(&svg->branches, k)->all;
        }
        bool is_seen = scaled(branch->all, svg->branches.all, whole) >= NARROWEST;
        if (!is_seen) svg->too_narrow++;
        if (is_seen && branch->depth >= svg->rows) svg->rows = branch->depth + 1;
    }
}

int uspi_profile_write_svg(struct uspi_writing *writing) {
    struct svg svg = {.writing = writing};
    const uint64_t whole = (uint64_t)(WIDTH - 2 * MARGIN) * 1000;
    int status = uspi_branches_make(&svg.branches, &writing->names, &writing->options);
    svg.starts = status == USP_OK ? calloc((size_t)svg.branches.pool.begun + 1, sizeof *svg.starts) : NULL;
    if (svg.starts == NULL) status = USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        place(&svg);
        put_head(&svg);
        for (uint32_t i = svg.branches.first; i != USPI_NONE; i = uspi_branch_next(&svg.branches, i)) {
            const struct uspi_branch *branch = uspi_branch(&svg.branches, i);
            if (scaled(branch->all, svg.branches.all, whole) >= NARROWEST) put_box(&svg, branch, svg.starts[i]);
        }
        if (svg.too_narrow > 0) {
            uspi_put_string(&writing->text, "<desc>");
            uspi_put_decimal(&writing->text, svg.too_narrow, 0);
            uspi_put_string(&writing->text, " boxes are too narrow to be seen</desc>\n");
        }
        uspi_put_string(&writing->text, "</svg>\n");
    }
    free(svg.starts);
    uspi_branches_free(&svg.branches);
    return status;
}
