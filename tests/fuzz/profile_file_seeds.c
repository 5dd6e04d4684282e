/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_profile_file into a folder of this name below the given one: a profile of pprof, plain and in
 * gzip format, and one of OTLP, each with all tables. */
#include "lib/base/protobuf.h"
#include "lib/base/text.h"
#include "lib/profile/gzip.h"

#include <stdio.h>
#include <sys/stat.h>

static const char *parent;

static FILE *open_seed(const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_profile_file", parent);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_profile_file/%s", parent, name);
    return fopen(path, "wb");
}

static int write_bytes(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* Adds a message whose fields 1 to n are numbers; 0: the field is missing. */
static void put_numbers(struct uspi_proto *to, uint64_t field, const uint64_t *values, unsigned n) {
    struct uspi_proto message = {.has_failed = false};
    for (unsigned i = 0; i < n; i++) uspi_proto_put_number(&message, i + 1, values[i]);
    uspi_proto_put_message(to, field, &message);
    uspi_gathered_clear(&message.out);
}

#define PUT(to, field, ...)                                                                                            \
    put_numbers(to, field, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static const char *const strings[] = {"",
                                      "samples",
                                      "count",
                                      "cpu",
                                      "nanoseconds",
                                      "thread",
                                      "main",
                                      "/no/program",
                                      "f",
                                      "f.c",
                                      "tid",
                                      "process.executable.build_id.gnu",
                                      "0123456789abcdef"};

static void put_strings(struct uspi_proto *to, uint64_t field) {
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        uspi_proto_put_bytes(to, field, strings[i], strlen(strings[i]));
}

static void put_location(struct uspi_proto *to, uint64_t field, unsigned first, uint64_t number, uint64_t address) {
    struct uspi_proto message = {.has_failed = false};
    if (first == 2) uspi_proto_put_number(&message, 1, number);
    uspi_proto_put_number(&message, first, 1);
    uspi_proto_put_number(&message, first + 1, address);
    if (number == 2) PUT(&message, first + 2, 1, 12, 3);
    uspi_proto_put_message(to, field, &message);
    uspi_gathered_clear(&message.out);
}

static struct uspi_proto make_pprof(void) {
    struct uspi_proto out = {.has_failed = false}, sample = {.has_failed = false};
    PUT(&out, 1, 1, 2);
    PUT(&out, 1, 3, 4);
    uspi_proto_put_bytes(&sample, 1, "\1\2", 2);
    uspi_proto_put_bytes(&sample, 2, "\3\144", 2);
    PUT(&sample, 3, 5, 6);
    PUT(&sample, 3, 10, 0, 77);
    uspi_proto_put_message(&out, 2, &sample);
    PUT(&out, 3, 1, 0x400000, 0x402000, 0x1000, 7, 12);
    put_location(&out, 4, 2, 1, 0x400100);
    put_location(&out, 4, 2, 2, 0x400200);
    PUT(&out, 5, 1, 8, 8, 9, 10);
    put_strings(&out, 6);
    uspi_proto_put_number(&out, 10, 1000000);
    uspi_gathered_clear(&sample.out);
    return out;
}

static struct uspi_proto make_otlp(void) {
    struct uspi_proto out = {.has_failed = false}, a = {.has_failed = false}, b = {.has_failed = false};
    PUT(&a, 1, 1, 2);
    uspi_proto_put_number(&b, 1, 1);
    uspi_proto_put_bytes(&b, 4, "\3", 1);
    uspi_proto_put_bytes(&b, 5, "\1\2\3\4\5\6\7\10", 8);
    uspi_proto_put_message(&a, 2, &b);
    PUT(&a, 5, 3, 4);
    uspi_proto_put_number(&a, 6, 1000);
    uspi_proto_put_message(&b, 2, &a);
    uspi_proto_put_message(&a, 2, &b);
    uspi_proto_put_message(&out, 1, &a);
    uspi_proto_put_bytes(&a, 1, "", 0);
    PUT(&a, 1, 0x400000, 0x402000, 0x1000, 7, 1);
    uspi_proto_put_bytes(&a, 2, "", 0);
    put_location(&a, 2, 1, 1, 0x400100);
    put_location(&a, 2, 1, 2, 0x400200);
    uspi_proto_put_bytes(&a, 3, "", 0);
    PUT(&a, 3, 8, 8, 9);
    put_strings(&a, 5);
    uspi_proto_put_bytes(&a, 6, "", 0);
    uspi_proto_put_number(&b, 1, 11);
    uspi_proto_put_bytes(&b, 2,
                         "\12\20"
                         "0123456789abcdef",
                         18);
    uspi_proto_put_message(&a, 6, &b);
    uspi_proto_put_bytes(&a, 7, "", 0);
    uspi_proto_put_bytes(&b, 1, "\1\2", 2);
    uspi_proto_put_message(&a, 7, &b);
    uspi_proto_put_message(&out, 2, &a);
    uspi_gathered_clear(&a.out);
    uspi_gathered_clear(&b.out);
    return out;
}

static void write_seed(const char *name, struct uspi_proto *made, bool is_packed) {
    char gathered[512];
    FILE *file = open_seed(name);
    if (file == NULL) return;
    struct uspi_text text = uspi_text_through(write_bytes, file, gathered, sizeof gathered);
    if (is_packed) {
        uspi_put_gzip(&text, (const uint8_t *)made->out.bytes, made->out.size);
    } else {
        uspi_put(&text, made->out.bytes, made->out.size);
    }
    uspi_text_flush(&text);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    parent = argv[1];
    struct uspi_proto pprof = make_pprof(), otlp = make_otlp();
    write_seed("pprof", &pprof, false);
    write_seed("pprof.gz", &pprof, true);
    write_seed("otlp", &otlp, false);
    uspi_gathered_clear(&pprof.out);
    uspi_gathered_clear(&otlp.out);
    return 0;
}
