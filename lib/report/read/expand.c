/* SPDX-License-Identifier: MIT */
/* Expands encoded Swift backtraces in JSON documents. See expand.h. */
#include "lib/report/read/expand.h"

#include "lib/base/json_read.h"
#include "lib/base/span.h"
#include "lib/base/text.h"
#include "lib/report/compact/items.h"
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"

#include <unspool/compact.h>

/* ---- base64 ---- */

/* Decodes Base64 (RFC 4648, section 4) as Swift and Foundation write it: with or without padding, without line ends. */

static int value_of(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == '+') return 62;
    return c == '/' ? 63 : -1;
}

/* Decodes a text. Returns the number of bytes, which is at most three for each four characters and a rest; `bytes` must
 * have room for that. SIZE_MAX: the text is not Base64. */
static size_t base64_decode(struct uspi_span text, uint8_t *bytes) {
    size_t n = 0;
    uint32_t word = 0;
    if (text.length % 4 == 0 && uspi_span_ends(text, USPI_SPAN("="))) {
        text.length -= uspi_span_ends(text, USPI_SPAN("==")) ? 2 : 1;
    }
    if (text.length % 4 == 1) return SIZE_MAX;
    for (size_t i = 0; i < text.length; i++) {
        const int value = value_of(text.bytes[i]);
        if (value < 0) return SIZE_MAX;
        word = word << 6 | (uint32_t)value;
        /* The second, third and fourth character of each four complete a byte. */
        if (i % 4 != 0) bytes[n++] = (uint8_t)(word >> (6 - 2 * (i % 4)));
    }
    return n;
}

/* Limits, because a few bytes may mean any number of equal frames. Frames beyond them are only counted. */
#define RUN_MAX    1000   /* frames of a run that are listed */
#define LISTED_MAX 100000 /* frames of a backtrace that are listed */

struct expansion {
    struct uspi_json_document document;
    struct uspi_expanded *to;
    size_t copied; /* number of bytes of the old text that were copied */
};

void uspi_expanded_clear(struct uspi_expanded *expanded) {
    uspi_gathered_clear(&expanded->text);
    free(expanded->additions);
    *expanded = (struct uspi_expanded){.additions = NULL};
}

/* ---- an object's members ---- */

/* Decodes the base64 of a member. *bytes becomes NULL, with USP_OK, if the member is missing or not base64. The caller
 * frees *bytes. */
static int bytes_of(const struct uspi_json_document *document, size_t member, uint8_t **bytes, size_t *n) {
    *bytes = NULL;
    if (member == USPI_JSON_NONE || document->nodes[member].kind != USPI_JSON_STRING) return USP_OK;
    struct uspi_span text = uspi_json_text(document, member);
    /* Both steps decode in place, because their result is never longer. */
    char *decoded = malloc(text.length + 1);
    if (decoded == NULL) return USP_ERROR_NO_MEMORY;
    text = (struct uspi_span){decoded, uspi_json_decode(text, decoded)};
    *n = base64_decode(text, (uint8_t *)decoded);
    if (*n == SIZE_MAX) {
        free(decoded);
        return USP_OK;
    }
    *bytes = (uint8_t *)decoded;
    return USP_OK;
}

/* Whether the whole backtrace can be read. */
static bool is_whole(const uint8_t *bytes, size_t n) {
    struct uspi_compact_items items;
    struct uspi_compact_item item;
    if (uspi_compact_items_begin(&items, bytes, n) != USP_OK) return false;
    do {
        if (uspi_compact_items_next(&items, &item) != USP_OK) return false;
    } while (item.kind != USPI_COMPACT_NONE && item.kind != USPI_COMPACT_END && item.kind != USPI_COMPACT_CUT);
    return true;
}

/* ---- frames ---- */

static void put_frame(struct uspi_text *out, const struct uspi_compact_item *item, unsigned digits) {
    static const char *const kinds[] = {[USPI_COMPACT_PC] = "programCounter",
                                        [USPI_COMPACT_RETURN] = "returnAddress",
                                        [USPI_COMPACT_ASYNC] = "asyncResumePoint"};
    uspi_put_string(out, "{\"kind\":\"");
    uspi_put_string(out, kinds[item->kind]);
    uspi_put_string(out, "\",\"address\":\"");
    uspi_put_hex(out, item->value, digits);
    uspi_put_string(out, "\"}");
}

static void put_omitted(struct uspi_text *out, uint64_t count) {
    uspi_put_string(out, "{\"kind\":\"omittedFrames\",\"count\":");
    uspi_put_decimal(out, count, 0);
    uspi_put_string(out, "}");
}

static void put_frames(struct uspi_text *out, const uint8_t *bytes, size_t n) {
    struct uspi_compact_items items;
    struct uspi_compact_item item;
    uint64_t listed = 0;
    bool is_first = true;
    if (uspi_compact_items_begin(&items, bytes, n) != USP_OK) return;
    const unsigned digits = 2 * items.in.width;
    while (uspi_compact_items_next(&items, &item) == USP_OK) {
        if (item.kind == USPI_COMPACT_NONE || item.kind == USPI_COMPACT_END) return;
        uint64_t shown = item.times < RUN_MAX ? item.times : RUN_MAX;
        const bool has_address = item.kind >= USPI_COMPACT_PC && item.kind <= USPI_COMPACT_ASYNC;
        if (listed + shown > LISTED_MAX) shown = 0;
        listed += shown;
        for (uint64_t i = 0; has_address && i < shown; i++, is_first = false) {
            if (!is_first) uspi_put_string(out, ",");
            put_frame(out, &item, digits);
        }
        const uint64_t left = has_address ? item.times - shown : item.value;
        if (has_address && left == 0) continue;
        if (!is_first) uspi_put_string(out, ",");
        is_first = false;
        if (item.kind == USPI_COMPACT_CUT) {
            uspi_put_string(out, "{\"kind\":\"truncated\"}");
        } else {
            put_omitted(out, left);
        }
    }
}

/* ---- images ---- */

static void put_text(struct uspi_text *out, const char *key, struct uspi_span value) {
    uspi_put_string(out, "\"");
    uspi_put_string(out, key);
    uspi_put_string(out, "\":\"");
    uspi_put_json_text(out, value);
    uspi_put_string(out, "\",");
}

static void put_image(struct uspi_text *out, const struct usp_image *image, unsigned digits) {
    const struct uspi_span path = uspi_span_of(image->path);
    uspi_put_string(out, "{");
    if (path.length > 0) {
        put_text(out, "name", uspi_span_file_name(path));
        put_text(out, "path", path);
    }
    if (image->build_id_size > 0) {
        uspi_put_string(out, "\"buildId\":\"");
        uspi_put_bytes(out, image->build_id, image->build_id_size);
        uspi_put_string(out, "\",");
    }
    uspi_put_string(out, "\"baseAddress\":\"");
    uspi_put_hex(out, image->load_address, digits);
    uspi_put_string(out, "\",\"endOfText\":\"");
    uspi_put_hex(out, image->end, digits);
    uspi_put_string(out, "\"}");
}

static void put_images(struct uspi_text *out, const struct usp_images *images, unsigned digits) {
    uspi_put_string(out, ",\"images\":[");
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if (i > 0) uspi_put_string(out, ",");
        put_image(out, usp_images_get(images, i), digits);
    }
    uspi_put_string(out, "]");
}

/* ---- objects ---- */

static bool has_member(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    return uspi_json_member(document, object, key) != USPI_JSON_NONE;
}

static int add_addition(struct uspi_expanded *to, size_t from) {
    if (!uspi_room_for(&to->additions, &to->capacity, to->count, 1, sizeof *to->additions)) return USP_ERROR_NO_MEMORY;
    to->additions[to->count++] = (struct uspi_addition){from, to->text.size};
    return USP_OK;
}

/* Writes the members that an object gets before its closing bracket. */
static int put_members(struct expansion *expansion, size_t object, const uint8_t *bytes, size_t n) {
    const struct uspi_json_document *document = &expansion->document;
    const size_t architecture = uspi_json_member(document, object, USPI_SPAN("architecture"));
    uint32_t variant;
    const uint32_t arch = uspi_scan_arch(uspi_json_text(document, architecture), &variant);
    struct usp_images *images = NULL;
    uint8_t *map;
    size_t map_size = 0;
    char buffer[1024];
    int status = bytes_of(document, uspi_json_member(document, object, USPI_SPAN("imageMap")), &map, &map_size);
    if (status == USP_OK && map != NULL) {
        status = usp_compact_images_read(map, map_size, arch, &images, NULL, 0);
        if (status != USP_ERROR_NO_MEMORY) status = USP_OK;
    }
    free(map);
    if (status != USP_OK) return status;
    const struct uspi_json_node *node = &document->nodes[object];
    const size_t end = node->from + (size_t)node->length - 1;
    status =
        uspi_gathered_append(&expansion->to->text, document->text.bytes + expansion->copied, end - expansion->copied);
    expansion->copied = end;
    const size_t from = expansion->to->text.size;
    struct uspi_text out = uspi_text_through(uspi_gathered_append, &expansion->to->text, buffer, sizeof buffer);
    uspi_put_string(&out, ",\"threads\":[{\"frames\":[");
    put_frames(&out, bytes, n);
    uspi_put_string(&out, "]}]");
    if (images != NULL) put_images(&out, images, 2 * uspi_compact_width(arch));
    usp_images_free(images);
    if (status == USP_OK) status = uspi_text_flush(&out);
    return status == USP_OK ? add_addition(expansion->to, from) : status;
}

static int expand_object(struct expansion *expansion, size_t object) {
    const struct uspi_json_document *document = &expansion->document;
    const struct uspi_json_node *node = &document->nodes[object];
    const size_t arch = uspi_json_member(document, object, USPI_SPAN("architecture"));
    uint8_t *bytes;
    size_t n = 0;
    /* The object is inside another one that was expanded. */
    if (node->from + (size_t)node->length <= expansion->copied) return USP_OK;
    if (arch == USPI_JSON_NONE || document->nodes[arch].kind != USPI_JSON_STRING) return USP_OK;
    if (has_member(document, object, USPI_SPAN("threads")) || has_member(document, object, USPI_SPAN("images"))) {
        return USP_OK;
    }
    int status = bytes_of(document, uspi_json_member(document, object, USPI_SPAN("backtrace")), &bytes, &n);
    if (status == USP_OK && bytes != NULL && is_whole(bytes, n)) status = put_members(expansion, object, bytes, n);
    free(bytes);
    return status;
}

int uspi_expand_backtraces(struct uspi_span text, struct uspi_expanded *expanded) {
    struct expansion expansion = {.document = {.text = text}, .to = expanded};
    int status = USP_OK;
    uspi_expanded_clear(expanded);
    /* Few texts contain it, and "k" is rarer than a quotation mark, so this test is fast. */
    if (!uspi_span_has(text, USPI_SPAN("ktrace\""))) return USP_OK;
    if (!uspi_span_has(text, USPI_SPAN("\"backtrace\"")) || !uspi_span_has(text, USPI_SPAN("\"architecture\""))) {
        return USP_OK;
    }
    while (status == USP_OK && (status = uspi_json_read(&expansion.document)) == USP_OK) {
        for (size_t i = 0; status == USP_OK && i < expansion.document.count; i++) {
            if (expansion.document.nodes[i].kind == USPI_JSON_OBJECT) status = expand_object(&expansion, i);
        }
    }
    uspi_json_clear(&expansion.document);
    /* The reader reports damaged documents later. */
    if (status != USP_ERROR_NO_MEMORY) status = USP_OK;
    if (status == USP_OK && expanded->count > 0) {
        status = uspi_gathered_append(&expanded->text, text.bytes + expansion.copied, text.length - expansion.copied);
    }
    if (status != USP_OK || expanded->count == 0) uspi_expanded_clear(expanded);
    return status;
}
