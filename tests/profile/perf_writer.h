/* SPDX-License-Identifier: MIT */
/* Writes perf.data: its header, records and features, by Linux include/uapi/linux/perf_event.h and
 * tools/perf/Documentation/perf.data-file-format.txt. It shares nothing with the reader. */
#ifndef TESTS_PROFILE_PERF_WRITER_H
#define TESTS_PROFILE_PERF_WRITER_H

#include "tests/support/file_builder.h"

#include <stdbool.h>

/* perf_event_attr.sample_type */
enum {
    S_IP = 1,
    S_TID = 2,
    S_TIME = 4,
    S_READ = 16,
    S_CHAIN = 32,
    S_ID = 64,
    S_CPU = 128,
    S_PERIOD = 256,
    S_RAW = 1024,
    S_BRANCHES = 2048,
    S_REGISTERS = 4096,
    S_STACK = 8192,
    S_IDENTIFIER = 65536
};

enum {
    MISC_KERNEL = 1,
    MISC_USER = 2,
    MISC_DATA = 1 << 13,
    MISC_EXEC = 1 << 13,
    MISC_ID = 1 << 14,
    MISC_SIZE = 1 << 15
};

#define CHAIN_KERNEL   ((uint64_t)-128)
#define CHAIN_USER     ((uint64_t)-512)
#define CHAIN_DEFERRED ((uint64_t)-640)

struct attribute {
    uint32_t size; /* of the written attribute */
    uint32_t type; /* 1: software */
    uint64_t config, period, sample_type, read_format, branch_type, registers;
    uint32_t stack_size;
    bool is_frequency;
    uint64_t id;      /* 0: none */
    const char *name; /* NULL: none */
};

static inline void put_attribute(struct builder *b, const struct attribute *a) {
    const size_t from = b->size;
    put(b, 4, a->type);
    put(b, 4, a->size);
    put(b, 8, a->config);
    put(b, 8, a->period);
    put(b, 8, a->sample_type);
    put(b, 8, a->read_format);
    put(b, 8, UINT64_C(1) << 18 | (a->is_frequency ? UINT64_C(1) << 10 : 0)); /* sample_id_all, freq */
    pad_to(b, from + 72);
    put(b, 8, a->branch_type);
    put(b, 8, a->registers);
    put(b, 4, a->stack_size);
    /* Fields of later versions, which the reader must not misread. */
    while (b->size < from + 160) put(b, 1, 0xa5);
    b->size = from + (a->size > 0 ? a->size : 64);
}

/* Begins a record. Returns where it begins, for end_record. */
static inline size_t begin_record(struct builder *b, uint32_t type, uint32_t misc) {
    const size_t from = b->size;
    put(b, 4, type);
    put(b, 2, misc);
    put(b, 2, 0);
    return from;
}

static inline void end_record(struct builder *b, size_t from) { patch(b, from + 6, 2, b->size - from); }

/* The tail of records that are not samples, of events with S_TID | S_TIME, and S_IDENTIFIER if `id` is not 0. */
static inline void put_tail(struct builder *b, uint32_t pid, uint32_t tid, uint64_t time, uint64_t id) {
    put(b, 4, pid);
    put(b, 4, tid);
    put(b, 8, time);
    if (id != 0) put(b, 8, id);
}

static inline void put_padded(struct builder *b, const char *text) {
    const size_t n = strlen(text) + 1;
    put_name(b, text, (n + 7) / 8 * 8);
}

struct mapping {
    uint32_t pid, misc;
    uint64_t low, size, offset, time;
    const char *path;
    bool is_data;         /* without PROT_EXEC */
    const char *build_id; /* 20 bytes; NULL: none */
};

static inline void put_mmap2(struct builder *b, const struct mapping *m) {
    const size_t from = begin_record(b, 10, (m->misc != 0 ? m->misc : MISC_USER) | (m->build_id != NULL ? MISC_ID : 0));
    put(b, 4, m->pid);
    put(b, 4, m->pid);
    put(b, 8, m->low);
    put(b, 8, m->size);
    put(b, 8, m->offset);
    if (m->build_id != NULL) {
        put(b, 4, 20);
        put_bytes(b, m->build_id, 20);
    } else {
        pad_to(b, b->size + 24);
    }
    put(b, 4, m->is_data ? 3 : 5);
    put(b, 4, 2);
    put_padded(b, m->path);
    put_tail(b, m->pid, m->pid, m->time, 0);
    end_record(b, from);
}

static inline void put_mmap(struct builder *b, uint32_t misc, uint32_t pid, uint64_t low, uint64_t size,
                            const char *path, uint64_t time) {
    const size_t from = begin_record(b, 1, misc);
    put(b, 4, pid);
    put(b, 4, pid);
    put(b, 8, low);
    put(b, 8, size);
    put(b, 8, 0);
    put_padded(b, path);
    put_tail(b, pid, pid, time, 0);
    end_record(b, from);
}

static inline void put_comm(struct builder *b, uint32_t misc, uint32_t pid, uint32_t tid, const char *name,
                            uint64_t time) {
    const size_t from = begin_record(b, 3, misc);
    put(b, 4, pid);
    put(b, 4, tid);
    put_padded(b, name);
    put_tail(b, pid, tid, time, 0);
    end_record(b, from);
}

/* FORK is 7, EXIT 4. */
static inline void put_task(struct builder *b, uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid,
                            uint32_t parent_tid, uint64_t time) {
    const size_t from = begin_record(b, type, 0);
    put(b, 4, pid);
    put(b, 4, parent);
    put(b, 4, tid);
    put(b, 4, parent_tid);
    put(b, 8, time);
    put_tail(b, parent, parent_tid, time, 0);
    end_record(b, from);
}

/* A sample of events with S_IP | S_TID | S_TIME | S_CHAIN. */
static inline void put_chain(struct builder *b, uint32_t misc, uint32_t pid, uint32_t tid, uint64_t time,
                             const uint64_t *chain, size_t count) {
    const size_t from = begin_record(b, 9, misc);
    put(b, 8, count > 1 ? chain[1] : 0);
    put(b, 4, pid);
    put(b, 4, tid);
    put(b, 8, time);
    put(b, 8, count);
    for (size_t i = 0; i < count; i++) put(b, 8, chain[i]);
    end_record(b, from);
}

static inline void put_plain(struct builder *b, uint32_t type) { end_record(b, begin_record(b, type, 0)); }

/* A file's parts. */
struct perf_file {
    struct attribute attributes[4];
    size_t attribute_count;
    struct builder records;
    struct builder build_ids; /* contents of feature 2; empty: it has none */
    const char *arch;         /* feature 6; NULL: it has none */
    const char *meta;         /* feature 129, which simpleperf writes; NULL: it has none */
    size_t meta_size;
    bool is_unfinished; /* the size of the records is 0, and there are no features */
};

static inline void put_string(struct builder *b, const char *text) {
    const size_t n = (strlen(text) + 1 + 63) / 64 * 64;
    put(b, 4, n);
    put_name(b, text, n);
}

static inline void put_event_descriptions(struct builder *b, const struct perf_file *file) {
    put(b, 4, file->attribute_count);
    put(b, 4, file->attributes[0].size);
    for (size_t i = 0; i < file->attribute_count; i++) {
        put_attribute(b, &file->attributes[i]);
        put(b, 4, file->attributes[i].id != 0 ? 1 : 0);
        put_string(b, file->attributes[i].name != NULL ? file->attributes[i].name : "");
        if (file->attributes[i].id != 0) put(b, 8, file->attributes[i].id);
    }
}

static inline void put_features(struct builder *b, const struct perf_file *file) {
    struct {
        unsigned number;
        struct builder bytes;
    } features[4] = {{2, {0}}, {6, {0}}, {12, {0}}, {129, {0}}};
    put_bytes(&features[0].bytes, file->build_ids.bytes, file->build_ids.size);
    if (file->arch != NULL) put_string(&features[1].bytes, file->arch);
    put_event_descriptions(&features[2].bytes, file);
    if (file->meta != NULL) put_bytes(&features[3].bytes, file->meta, file->meta_size);
    const size_t table = b->size;
    size_t entry = table;
    for (size_t i = 0; i < 4; i++) entry += features[i].bytes.size > 0 ? 16 : 0;
    pad_to(b, entry);
    entry = table;
    for (size_t i = 0; i < 4; i++) {
        if (features[i].bytes.size == 0) continue;
        patch(b, entry, 8, b->size);
        patch(b, entry + 8, 8, features[i].bytes.size);
        entry += 16;
        const size_t byte = 72 + features[i].number / 8;
        b->bytes[byte] = (uint8_t)(b->bytes[byte] | 1u << features[i].number % 8);
        put_bytes(b, features[i].bytes.bytes, features[i].bytes.size);
        builder_free(&features[i].bytes);
    }
}

/* Makes the whole file. */
static inline struct builder make_file(struct perf_file *file) {
    struct builder b = {0};
    const uint32_t size = file->attributes[0].size > 0 ? file->attributes[0].size : 64;
    put_bytes(&b, "PERFILE2", 8);
    put(&b, 8, 104);
    put(&b, 8, size + 16);
    pad_to(&b, 104);
    const size_t ids = b.size;
    for (size_t i = 0; i < file->attribute_count; i++) put(&b, 8, file->attributes[i].id);
    const size_t attributes = b.size;
    for (size_t i = 0; i < file->attribute_count; i++) {
        put_attribute(&b, &file->attributes[i]);
        put(&b, 8, ids + 8 * i);
        put(&b, 8, file->attributes[i].id != 0 ? 8 : 0);
    }
    patch(&b, 24, 8, attributes);
    patch(&b, 32, 8, b.size - attributes);
    patch(&b, 40, 8, b.size);
    patch(&b, 48, 8, file->is_unfinished ? 0 : file->records.size);
    put_bytes(&b, file->records.bytes, file->records.size);
    if (!file->is_unfinished) put_features(&b, file);
    builder_free(&file->records);
    builder_free(&file->build_ids);
    return b;
}

/* Makes the same as a stream. */
static inline struct builder make_stream(struct perf_file *file) {
    struct builder b = {0};
    put_bytes(&b, "PERFILE2", 8);
    put(&b, 8, 16);
    for (size_t i = 0; i < file->attribute_count; i++) {
        size_t from = begin_record(&b, 64, 0);
        put_attribute(&b, &file->attributes[i]);
        put(&b, 8, file->attributes[i].id);
        end_record(&b, from);
        from = begin_record(&b, 78, 0); /* the event's name */
        put(&b, 8, 2);
        put(&b, 8, file->attributes[i].id);
        put_padded(&b, file->attributes[i].name != NULL ? file->attributes[i].name : "");
        end_record(&b, from);
    }
    if (file->arch != NULL) {
        const size_t from = begin_record(&b, 80, 0);
        put(&b, 8, 6);
        put_string(&b, file->arch);
        end_record(&b, from);
    }
    put_bytes(&b, file->records.bytes, file->records.size);
    builder_free(&file->records);
    builder_free(&file->build_ids);
    return b;
}

/* Puts the bytes into compressed records with at most `piece` bytes of each: one zstd frame (RFC 8878) of blocks that
 * are not compressed, which never ends. Type 81, or 83. */
static inline void put_compressed(struct builder *to, const struct builder *from, size_t piece, uint32_t type) {
    for (size_t at = 0; at < from->size; at += piece) {
        const size_t n = from->size - at < piece ? from->size - at : piece;
        struct builder packed = {0};
        if (at == 0) put_hex(&packed, "28b52ffd 00 58"); /* magic, no size, a window of 2 MB */
        put(&packed, 3, (uint64_t)n << 3);               /* not the last block, raw */
        put_bytes(&packed, from->bytes + at, n);
        const size_t record = begin_record(to, type, 0);
        if (type == 83) put(to, 8, packed.size);
        put_bytes(to, packed.bytes, packed.size);
        if (type == 83) align_to(to, 8);
        end_record(to, record);
        builder_free(&packed);
    }
}

#endif
