/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_recording into a folder of this name below the given one: recordings of perf as files and
 * pipes, with call chains, a stack dump, compressed records, and a user part that comes later. */
#include "tests/profile/perf_writer.h"

#include <sys/stat.h>

static const char *parent;

static void write_seed(const char *name, struct builder bytes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_recording", parent);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_recording/%s", parent, name);
    save(&bytes, path);
    builder_free(&bytes);
}

static void put_records(struct builder *b) {
    static const uint64_t chain[] = {CHAIN_KERNEL, 0xffffffff81000010, CHAIN_USER, 0x400100, 0x400200};
    static const uint64_t deferred[] = {CHAIN_KERNEL, 0xffffffff81000010, CHAIN_DEFERRED, 5};
    const struct mapping app = {
        .pid = 7, .low = 0x400000, .size = 0x10000, .path = "/app", .build_id = "0123456789abcdefghij"};
    put_mmap(b, MISC_KERNEL, UINT32_MAX, 0xffffffff81000000, 0x100000, "[kernel.kallsyms]_text", 0);
    put_mmap2(b, &app);
    put_comm(b, MISC_EXEC, 7, 7, "app", 1);
    put_mmap2(b, &app);
    put_chain(b, MISC_KERNEL, 7, 7, 2, chain, 5);
    put_task(b, 7, 8, 7, 8, 7, 3);
    put_plain(b, 68);
    put_chain(b, MISC_USER, 8, 8, 4, chain, 5);
    put_chain(b, MISC_KERNEL, 8, 8, 5, deferred, 4);
    const size_t from = begin_record(b, 22, MISC_USER);
    put(b, 8, 5);
    put(b, 8, 1);
    put(b, 8, 0x400100);
    put_tail(b, 8, 8, 6, 0);
    end_record(b, from);
    put_task(b, 4, 8, 7, 8, 7, 7);
}

static struct perf_file begin_file(void) {
    return (struct perf_file){.attributes = {{.size = 120,
                                              .type = 1,
                                              .period = 1000,
                                              .sample_type = S_IP | S_TID | S_TIME | S_CHAIN,
                                              .id = 9,
                                              .name = "cpu-clock"}},
                              .attribute_count = 1,
                              .arch = "x86_64"};
}

static void put_dump(struct builder *b) {
    const size_t from = begin_record(b, 9, MISC_USER);
    put(b, 8, 0x400100);
    put(b, 4, 7);
    put(b, 4, 7);
    put(b, 8, 2);
    put(b, 8, 0);
    put(b, 8, 2);
    for (unsigned i = 0; i < 20; i++) put(b, 8, i == 8 ? 0x400100 : 0x7ffe0000);
    put(b, 8, 64);
    for (unsigned i = 0; i < 8; i++) put(b, 8, i % 2 == 0 ? 0x7ffe0010 : 0x400200);
    put(b, 8, 64);
    end_record(b, from);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    parent = argv[1];
    struct perf_file file = begin_file();
    put_records(&file.records);
    write_seed("file", make_file(&file));
    file = begin_file();
    put_records(&file.records);
    write_seed("pipe", make_stream(&file));
    file = begin_file();
    struct builder inner = {0};
    put_records(&inner);
    put_compressed(&file.records, &inner, 100, 81);
    builder_free(&inner);
    write_seed("compressed", make_file(&file));
    file = begin_file();
    file.attributes[0].sample_type |= S_REGISTERS | S_STACK;
    file.attributes[0].registers = 0xff0fff;
    put_dump(&file.records);
    write_seed("dump", make_file(&file));
    return 0;
}
