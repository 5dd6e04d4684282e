/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "lib/base/json.h"

static void put_quoted(struct uspi_json *json, const char *string) {
    uspi_put(json->out, "\"", 1);
    uspi_put_json_text(json->out, uspi_span_of(string));
    uspi_put(json->out, "\"", 1);
}

static void put_line(struct uspi_json *json) {
    uspi_put(json->out, "\n", 1);
    uspi_put_padded(json->out, (struct uspi_span){"", 0}, (size_t)json->depth * 2);
}

static bool is_flat(const struct uspi_json *json) { return json->flat > 0 && json->depth >= json->flat; }

/* Writes what precedes a value: the comma, the line break, the key. */
static void begin_value(struct uspi_json *json, const char *key) {
    if (json->depth > 0) {
        bool is_first = (json->filled >> json->depth & 1) == 0;
        if (!is_first) uspi_put(json->out, ",", 1);
        if (!is_flat(json)) {
            put_line(json);
        } else if (!is_first) {
            uspi_put(json->out, " ", 1);
        }
        json->filled |= UINT32_C(1) << json->depth;
    }
    if (key != NULL) {
        put_quoted(json, key);
        uspi_put(json->out, ": ", 2);
    }
}

static void open_brace(struct uspi_json *json, const char *key, const char *brace) {
    begin_value(json, key);
    uspi_put_string(json->out, brace);
    json->depth++;
    json->filled &= ~(UINT32_C(1) << json->depth);
}

static void close_brace(struct uspi_json *json, const char *brace) {
    bool ends_line = (json->filled >> json->depth & 1) != 0 && !is_flat(json);
    json->depth--;
    if (ends_line) put_line(json);
    uspi_put_string(json->out, brace);
    if (json->depth == 0) uspi_put(json->out, "\n", 1);
}

void uspi_json_begin_object(struct uspi_json *json, const char *key) { open_brace(json, key, "{"); }

void uspi_json_end_object(struct uspi_json *json) { close_brace(json, "}"); }

void uspi_json_begin_array(struct uspi_json *json, const char *key) { open_brace(json, key, "["); }

void uspi_json_end_array(struct uspi_json *json) { close_brace(json, "]"); }

void uspi_json_string(struct uspi_json *json, const char *key, const char *value) {
    begin_value(json, key);
    put_quoted(json, value);
}

void uspi_json_number(struct uspi_json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    uspi_put_decimal(json->out, value, 0);
}

void uspi_json_bool(struct uspi_json *json, const char *key, bool value) {
    begin_value(json, key);
    uspi_put_string(json->out, value ? "true" : "false");
}

void uspi_json_null(struct uspi_json *json, const char *key) {
    begin_value(json, key);
    uspi_put_string(json->out, "null");
}

void uspi_json_integer(struct uspi_json *json, const char *key, int64_t value) {
    begin_value(json, key);
    if (value < 0) uspi_put(json->out, "-", 1);
    uspi_put_decimal(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 0);
}

void uspi_json_fraction(struct uspi_json *json, const char *key, uint64_t value, unsigned decimals) {
    char digits[20];
    uint64_t unit = 1;
    for (unsigned i = 0; i < decimals; i++) unit *= 10;
    begin_value(json, key);
    uspi_put_decimal(json->out, value / unit, 0);
    if (decimals == 0) return;
    uspi_put(json->out, ".", 1);
    for (unsigned i = 0; i < decimals; i++) {
        unit /= 10;
        digits[i] = (char)('0' + value / unit % 10);
    }
    uspi_put(json->out, digits, decimals);
}

void uspi_json_address(struct uspi_json *json, const char *key, uint64_t value) {
    begin_value(json, key);
    uspi_put(json->out, "\"", 1);
    uspi_put_hex(json->out, value, 1);
    uspi_put(json->out, "\"", 1);
}

void uspi_json_bytes(struct uspi_json *json, const char *key, const uint8_t *bytes, size_t n) {
    begin_value(json, key);
    uspi_put(json->out, "\"", 1);
    uspi_put_bytes(json->out, bytes, n);
    uspi_put(json->out, "\"", 1);
}

void uspi_json_build_id(struct uspi_json *json, bool is_macho, const uint8_t *bytes, size_t n) {
    if (n > 0) uspi_json_bytes(json, is_macho ? "uuid" : "build_id", bytes, n);
}

void uspi_json_arch(struct uspi_json *json, uint32_t arch, uint32_t variant) {
    const char *name = usp_arch_string(arch), *variant_name = usp_variant_string(arch, variant);
    uspi_json_string(json, "arch", name);
    if (strcmp(name, variant_name) != 0) uspi_json_string(json, "variant", variant_name);
}

void uspi_json_image(struct uspi_json *json, const struct usp_image *image) {
    uspi_json_begin_object(json, NULL);
    uspi_json_string(json, "path", image->path);
    uspi_json_address(json, "load_address", image->load_address);
    uspi_json_address(json, "end", image->end);
    uspi_json_build_id(json, (image->flags & USP_IMAGE_MACHO) != 0, image->build_id, image->build_id_size);
    uspi_json_end_object(json);
}
