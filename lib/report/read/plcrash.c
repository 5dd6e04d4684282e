/* SPDX-License-Identifier: MIT */
/* See plcrash.h. The file is "plcrash", a byte with the version, and a message of Protocol Buffers. Its fields:
 * https://github.com/microsoft/plcrashreporter/blob/master/Source/PLCrashReport.proto. */
#include "lib/report/read/plcrash.h"

#include "lib/base/bisect.h"
#include "lib/base/protobuf.h"
#include "lib/report/read/model_fields.h"

#include <stdlib.h>

static const struct uspi_span mark = USPI_SPAN_INIT("plcrash");
#define VERSION 1

/* Most frames, because a frame of four bytes becomes a line. */
#define FRAMES_MAX ((size_t)1 << 20)

/* An image's name in a frame's line is cut to this length. */
#define NAME_MAX_SHOWN ((size_t)128)

/* ---- the report ---- */

struct image {
    uint64_t base, size;
    struct uspi_span path;
    struct uspi_span uuid;
    uint64_t cpu; /* Mach's type of processor; 0: not known */
};

struct writer {
    struct uspi_text out;
    struct uspi_span report;
    struct image *images; /* by their bases */
    size_t image_count, image_capacity;
    size_t frames;
    bool is_damaged;
};

static void put_harmless(struct writer *writer, struct uspi_span span) { uspi_put_harmless(&writer->out, span, ""); }

static void put(struct writer *writer, const char *string) { uspi_put_string(&writer->out, string); }

/* Writes a line with a label, unless the value is empty. */
static void put_field(struct writer *writer, const char *label, struct uspi_span value) {
    if (value.length == 0) return;
    uspi_put_padded(&writer->out, uspi_span_of(label), 20);
    put(writer, " ");
    put_harmless(writer, value);
    put(writer, "\n");
}

static void put_process(struct writer *writer, const char *label, struct uspi_span name, uint64_t id) {
    if (name.length == 0) return;
    uspi_put_padded(&writer->out, uspi_span_of(label), 20);
    put(writer, " ");
    put_harmless(writer, name);
    put(writer, " [");
    uspi_put_decimal(&writer->out, id, 0);
    put(writer, "]\n");
}

/* Mach's types of processors: xnu osfmk/mach/machine.h. */
static const char *cpu_name(uint64_t type) {
    switch (type) {
    case 0x100000c: return "arm64";
    case 0x200000c: return "arm64_32";
    case 12: return "armv7";
    case 0x1000007: return "x86_64";
    case 7: return "i386";
    default: return "";
    }
}

static void put_system(struct writer *writer) {
    static const char *const systems[] = {"macOS ", "iPhone OS ", "iPhone Simulator ", "", "tvOS "};
    const struct uspi_span system = uspi_proto_find(writer->report, 1).bytes;
    const uint64_t kind = uspi_proto_find(system, 1).value, time = uspi_proto_find(system, 4).value;
    const struct uspi_span version = uspi_proto_find(system, 2).bytes, build = uspi_proto_find(system, 5).bytes;
    if (time > 0) {
        put(writer, "Date/Time:           ");
        uspi_put_meaning(&writer->out, USPI_MEANS_TIME, time);
        put(writer, "\n");
    }
    if (version.length == 0) return;
    put(writer, "OS Version:          ");
    put(writer, kind < sizeof systems / sizeof *systems ? systems[kind] : "");
    put_harmless(writer, version);
    if (build.length > 0) put(writer, " (");
    put_harmless(writer, build);
    put(writer, build.length > 0 ? ")\n" : "\n");
}

static void put_header(struct writer *writer) {
    const struct uspi_span application = uspi_proto_find(writer->report, 2).bytes,
                           process = uspi_proto_find(writer->report, 7).bytes,
                           machine = uspi_proto_find(writer->report, 8).bytes,
                           uuid = uspi_proto_find(uspi_proto_find(writer->report, 9).bytes, 2).bytes;
    if (uuid.length == USPI_UUID_BYTES) {
        put(writer, "Incident Identifier: ");
        uspi_put_uuid(&writer->out, (const uint8_t *)uuid.bytes);
        put(writer, "\n");
    }
    put_field(writer, "Hardware Model:", uspi_proto_find(machine, 1).bytes);
    put_process(writer, "Process:", uspi_proto_find(process, 1).bytes, uspi_proto_find(process, 2).value);
    put_field(writer, "Path:", uspi_proto_find(process, 3).bytes);
    put_field(writer, "Identifier:", uspi_proto_find(application, 1).bytes);
    const struct uspi_span version = uspi_proto_find(application, 2).bytes,
                           shown = uspi_proto_find(application, 3).bytes;
    if (version.length + shown.length > 0) {
        put(writer, "Version:             ");
        put_harmless(writer, shown);
        put(writer, shown.length > 0 ? " (" : "");
        put_harmless(writer, version);
        put(writer, shown.length > 0 ? ")\n" : "\n");
    }
    put_field(writer,
              "Code Type:", uspi_span_of(cpu_name(uspi_proto_find(uspi_proto_find(machine, 2).bytes, 2).value)));
    put_process(writer, "Parent Process:", uspi_proto_find(process, 4).bytes, uspi_proto_find(process, 5).value);
    put_system(writer);
    put(writer, "\n");
}

/* Writes the Mach exception and the signal, or the signal alone; then what an exception of the language says. */
static void put_exception(struct writer *writer) {
    const struct uspi_span signal = uspi_proto_find(writer->report, 6).bytes, mach = uspi_proto_find(signal, 4).bytes,
                           exception = uspi_proto_find(writer->report, 5).bytes,
                           name = uspi_proto_find(signal, 1).bytes;
    if (name.length > 0 || mach.length > 0) {
        const bool is_named = mach.length > 0;
        put(writer, "Exception Type:  ");
        if (is_named && !uspi_put_meaning(&writer->out, USPI_MEANS_EXCEPTION, uspi_proto_find(mach, 1).value)) {
            uspi_put_decimal(&writer->out, uspi_proto_find(mach, 1).value, 0);
        }
        put(writer, is_named ? " (" : "");
        put_harmless(writer, name);
        put(writer, is_named ? ")\nException Codes: " : "\nException Codes: ");
        put_harmless(writer, uspi_proto_find(signal, 2).bytes);
        put(writer, " at ");
        uspi_put_hex(&writer->out, uspi_proto_find(signal, 3).value, 1);
        put(writer, "\n\n");
    }
    if (exception.length == 0) return;
    put(writer, "Application Specific Information:\n*** Terminating app due to uncaught exception '");
    put_harmless(writer, uspi_proto_find(exception, 1).bytes);
    put(writer, "', reason: '");
    put_harmless(writer, uspi_proto_find(exception, 2).bytes);
    put(writer, "'\n\n");
}

/* ---- images ---- */

static int by_base(const void *a, const void *b) {
    const struct image *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

static bool read_images(struct writer *writer) {
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(writer->report, &at, &field);) {
        if (field.number != 4) continue;
        const size_t count = writer->image_count;
        if (!uspi_room_for(&writer->images, &writer->image_capacity, count, 1, sizeof *writer->images)) return false;
        writer->images[writer->image_count++] =
            (struct image){uspi_proto_find(field.bytes, 1).value, uspi_proto_find(field.bytes, 2).value,
                           uspi_proto_find(field.bytes, 3).bytes, uspi_proto_find(field.bytes, 4).bytes,
                           uspi_proto_find(uspi_proto_find(field.bytes, 5).bytes, 2).value};
    }
    if (writer->image_count > 0) qsort(writer->images, writer->image_count, sizeof *writer->images, by_base);
    return true;
}

static const struct image *find_image(const struct writer *writer, uint64_t address) {
    size_t i;
    USPI_FIRST(i, 0, writer->image_count, writer->images[i].base > address);
    if (i == 0 || address - writer->images[i - 1].base >= writer->images[i - 1].size) return NULL;
    return &writer->images[i - 1];
}

static struct uspi_span name_of(const struct image *image) {
    struct uspi_span name = uspi_span_file_name(image->path);
    if (name.length > NAME_MAX_SHOWN) name.length = NAME_MAX_SHOWN;
    return name;
}

static void put_images(struct writer *writer) {
    put(writer, "Binary Images:\n");
    for (size_t i = 0; i < writer->image_count; i++) {
        const struct image *image = &writer->images[i];
        const uint64_t more = image->size > 0 ? image->size - 1 : 0;
        uspi_put_hex(&writer->out, image->base, 1);
        put(writer, " - ");
        uspi_put_hex(&writer->out, more > UINT64_MAX - image->base ? UINT64_MAX : image->base + more, 1);
        put(writer, " ");
        put_harmless(writer, name_of(image));
        put(writer, " ");
        put(writer, cpu_name(image->cpu));
        put(writer, " <");
        uspi_put_bytes(&writer->out, (const uint8_t *)image->uuid.bytes,
                       image->uuid.length == USPI_UUID_BYTES ? USPI_UUID_BYTES : 0);
        put(writer, "> ");
        put_harmless(writer, image->path);
        put(writer, "\n");
    }
}

/* ---- threads ---- */

static void put_frame(struct writer *writer, size_t index, struct uspi_span frame) {
    const uint64_t address = uspi_proto_find(frame, 3).value;
    const struct uspi_span symbol = uspi_proto_find(frame, 6).bytes, name = uspi_proto_find(symbol, 1).bytes;
    const uint64_t start = uspi_proto_find(symbol, 2).value;
    const struct image *image = find_image(writer, address);
    uspi_put_decimal(&writer->out, index, 4);
    const uint64_t begin = writer->out.length;
    put_harmless(writer, image != NULL ? name_of(image) : USPI_SPAN("???"));
    uspi_put_blanks(&writer->out, writer->out.length - begin, 30);
    put(writer, "\t");
    uspi_put_hex(&writer->out, address, 16);
    put(writer, " ");
    if (name.length > 0 && start <= address) {
        put_harmless(writer, name);
        put(writer, " + ");
        uspi_put_decimal(&writer->out, address - start, 0);
    } else if (image != NULL) {
        uspi_put_hex(&writer->out, image->base, 1);
        put(writer, " + ");
        uspi_put_decimal(&writer->out, address - image->base, 0);
    } else {
        put(writer, "???");
    }
    put(writer, "\n");
}

/* Writes the frames of a message, which are its fields with a number. */
static void put_frames(struct writer *writer, struct uspi_span message, uint64_t number) {
    struct uspi_proto_field field;
    size_t index = 0;
    for (size_t at = 0; uspi_proto_next(message, &at, &field) && writer->frames < FRAMES_MAX;) {
        if (field.number != number) continue;
        put_frame(writer, index++, field.bytes);
        writer->frames++;
    }
    put(writer, "\n");
}

/* Writes the registers of a thread, as the readers of lines know them. */
static void put_registers(struct writer *writer, struct uspi_span thread) {
    struct uspi_proto_field field;
    size_t count = 0;
    for (size_t at = 0; uspi_proto_next(thread, &at, &field);) {
        if (field.number != 4) continue;
        if (count == 0) {
            put(writer, "Thread ");
            uspi_put_decimal(&writer->out, uspi_proto_find(thread, 1).value, 0);
            put(writer, " crashed with Thread State:\n");
        }
        put(writer, count % 4 == 0 ? "    " : "   ");
        put_harmless(writer, uspi_proto_find(field.bytes, 1).bytes);
        put(writer, ": ");
        uspi_put_hex(&writer->out, uspi_proto_find(field.bytes, 2).value, 16);
        if (++count % 4 == 0) put(writer, "\n");
    }
    if (count > 0) put(writer, count % 4 == 0 ? "\n" : "\n\n");
}

static void put_threads(struct writer *writer) {
    const struct uspi_span exception = uspi_proto_find(writer->report, 5).bytes;
    struct uspi_proto_field field;
    if (uspi_proto_find(exception, 3).number != 0) {
        put(writer, "Last Exception Backtrace:\n");
        put_frames(writer, exception, 3);
    }
    for (size_t at = 0; uspi_proto_next(writer->report, &at, &field);) {
        if (field.number != 3) continue;
        put(writer, "Thread ");
        uspi_put_decimal(&writer->out, uspi_proto_find(field.bytes, 1).value, 0);
        put(writer, uspi_proto_find(field.bytes, 3).value != 0 ? " Crashed:\n" : ":\n");
        put_frames(writer, field.bytes, 2);
    }
    for (size_t at = 0; uspi_proto_next(writer->report, &at, &field);) {
        const bool has_crashed = field.number == 3 && uspi_proto_find(field.bytes, 3).value != 0;
        if (has_crashed) put_registers(writer, field.bytes);
    }
}

bool uspi_is_plcrash(struct uspi_span bytes) { return bytes.length > mark.length && uspi_span_begins(bytes, mark); }

/* Whether the report's own fields are whole up to its end. */
static bool is_whole(struct uspi_span report) {
    struct uspi_proto_field field;
    size_t at = 0;
    while (uspi_proto_next(report, &at, &field)) continue;
    return at == report.length;
}

int uspi_plcrash_to_text(struct uspi_span bytes, struct uspi_gathered *text) {
    char buffer[4096];
    struct writer writer = {.report = uspi_span_after(bytes, mark.length + 1)};
    if (bytes.bytes[mark.length] != VERSION) return USP_ERROR_UNSUPPORTED;
    writer.out = uspi_text_through(uspi_gathered_append, text, buffer, sizeof buffer);
    int status = read_images(&writer) ? USP_OK : USP_ERROR_NO_MEMORY;
    if (status == USP_OK) {
        put_header(&writer);
        put_exception(&writer);
        put_threads(&writer);
        put_images(&writer);
        status = uspi_text_flush(&writer.out);
    }
    free(writer.images);
    return status == USP_OK && !is_whole(writer.report) ? USP_ERROR_TRUNCATED : status;
}
