/* SPDX-License-Identifier: MIT */
/* Tests of stacks and snapshots as text, byte by byte; of untrusted names; of writers that fail. tests/tool/styles.sh
 * tests the report of a real process, and JSON against its schema. */
#include "tests/support/text_fixtures.h"

#include "lib/base/text.h"
#include "tests/support/suite.h"

#include <unistd.h>

static const struct made_image images_table[] = {
    {"/Apps/Demo.app/Demo", 0x100000000, 0x8000, USP_IMAGE_MAIN | USP_IMAGE_MACHO,
     "\xde\xad\xbe\xef"
     "123456789abc"},
    {"/usr/lib/lib\x1b.dylib", 0x200000000, 0x1000, USP_IMAGE_MACHO, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* An interrupted pc, a call that never returns (its return address is the next function's first), an address without a
 * symbol, an address without an image. */
static const usp_addr pcs[] = {0x100001010, 0x100002000, 0x200000010, 0x42};
#define COUNT 4u

static const struct usp_symbol symbols[COUNT] = {
    {.name = "-[Demo run:]", .start = 0x100001000, .image_path = "/Apps/Demo.app/Demo", .image_load = 0x100000000},
    {.name = "_RNvC4demo5fatal", .start = 0x100001f00, .image_path = "/Apps/Demo.app/Demo", .image_load = 0x100000000},
    {.image_path = "/usr/lib/lib\x1b.dylib", .image_load = 0x200000000},
    {.name = NULL},
};

struct fixture {
    struct usp_frame frames[COUNT];
    struct usp_stack stack;
    struct usp_images *images;
    struct usp_demangler *demangler;
    struct usp_format_options options;
};

static void set_up(struct fixture *f, uint32_t style) {
    f->stack = make_stack(f->frames, pcs, COUNT);
    f->images = make_images(images_table, USP_ARCH_ARM64);
    ck_assert_int_eq(usp_demangler_create(USP_DEMANGLE_FULL, &f->demangler), USP_OK);
    usp_format_options_init(&f->options);
    f->options.style = style;
    f->options.symbols = symbols;
    f->options.demangler = f->demangler;
}

static void tear_down(struct fixture *f) {
    usp_images_free(f->images);
    usp_demangler_free(f->demangler);
}

static void check_stack(const struct fixture *f, const struct usp_thread_info *thread, const char *expected) {
    struct gathered g = {0};
    ck_assert_int_eq(usp_format_stack(&f->stack, thread, &f->options, gather, &g), USP_OK);
    ck_assert_str_eq(g.text, expected);
    free(g.text);
}

START_TEST(lines) {
    struct fixture f;
    set_up(&f, USP_FORMAT_CALL_STACK_SYMBOLS);
    check_stack(&f, NULL,
                "0   Demo                                0x0000000100001010 -[Demo run:] + 16\n"
                "1   Demo                                0x0000000100002000 demo::fatal + 256\n"
                "2   lib\\x1b.dylib                       0x0000000200000010 lib\\x1b.dylib + 16\n"
                "3   ???                                 0x0000000000000042 [unknown]\n");
    f.options.style = USP_FORMAT_PLAIN;
    check_stack(&f, NULL, "-[Demo run:] + 16\ndemo::fatal + 256\nlib\\x1b.dylib + 16\n0x0000000000000042\n");
    f.options.style = USP_FORMAT_BACKTRACE_SYMBOLS;
    check_stack(&f, NULL,
                "/Apps/Demo.app/Demo(-[Demo run:]+0x10) [0x100001010]\n"
                "/Apps/Demo.app/Demo(demo::fatal+0x100) [0x100002000]\n"
                "/usr/lib/lib\\x1b.dylib(+0x10) [0x200000010]\n"
                "[0x42]\n");
    f.options.style = USP_FORMAT_BS_BACKTRACE;
    const struct usp_thread_info thread = {.thread = {.id = 771}, .name = "worker"};
    check_stack(&f, &thread,
                "Backtrace of Thread 771:\n"
                "Demo                            0x100001010 -[Demo run:] + 16\n"
                "Demo                            0x100002000 demo::fatal + 256\n"
                "lib\\x1b.dylib                   0x200000010 lib\\x1b.dylib + 16\n"
                "???                             0x00000042 [unknown]\n"
                "\n");
    f.options.style = USP_FORMAT_CRASH_REPORT;
    check_stack(&f, NULL,
                "Thread 0:\n"
                "0   Demo                          \t0x0000000100001010 -[Demo run:] + 16\n"
                "1   Demo                          \t0x0000000100002000 demo::fatal + 256\n"
                "2   lib\\x1b.dylib                 \t0x0000000200000010 0x200000000 + 16\n"
                "3   ???                           \t0x0000000000000042 [unknown]\n"
                "\n");
    f.options.style = USP_FORMAT_FOLDED;
    f.options.count = 12;
    check_stack(&f, NULL, "thread;0x42;lib\\x1b.dylib+0x10;demo::fatal;-[Demo run:] 12\n");
    check_stack(&f, &thread, "worker;0x42;lib\\x1b.dylib+0x10;demo::fatal;-[Demo run:] 12\n");
    /* The data with which a server symbolicates, without any symbol. */
    f.options.style = USP_FORMAT_PORTABLE;
    f.options.symbols = NULL;
    f.options.images = f.images;
    check_stack(&f, NULL,
                "0   DEADBEEF-3132-3334-3536-373839616263 + 0x1010 /Apps/Demo.app/Demo\n"
                "1   DEADBEEF-3132-3334-3536-373839616263 + 0x2000 /Apps/Demo.app/Demo\n"
                "2   ??? + 0x10 /usr/lib/lib\\x1b.dylib\n"
                "3   0x0000000000000042\n");
    tear_down(&f);
}
END_TEST

/* A frame that could not be verified is marked in the library's own style, and in no style of another tool. */
START_TEST(unverified) {
    struct fixture f;
    set_up(&f, USP_FORMAT_CALL_STACK_SYMBOLS);
    for (unsigned i = 1; i < COUNT; i++) f.frames[i].flags |= USP_FRAME_UNVERIFIED;
    check_stack(&f, NULL,
                "0   Demo                                0x0000000100001010 -[Demo run:] + 16\n"
                "1   Demo                                0x0000000100002000 demo::fatal + 256 [unverified]\n"
                "2   lib\\x1b.dylib                       0x0000000200000010 lib\\x1b.dylib + 16 [unverified]\n"
                "3   ???                                 0x0000000000000042 [unknown] [unverified]\n");
    static const uint32_t others[] = {USP_FORMAT_PLAIN, USP_FORMAT_BACKTRACE_SYMBOLS, USP_FORMAT_BS_BACKTRACE,
                                      USP_FORMAT_CRASH_REPORT, USP_FORMAT_FOLDED};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        struct gathered g = {0};
        f.options.style = others[i];
        ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, gather, &g), USP_OK);
        ck_assert_ptr_null(strstr(g.text, "unverified"));
        free(g.text);
    }
    char line[128];
    usp_format_frame(line, sizeof line, USP_FORMAT_CALL_STACK_SYMBOLS, &f.stack, 3, NULL);
    ck_assert_ptr_null(strstr(line, "unverified"));
    tear_down(&f);
}
END_TEST

/* The image of a frame is the one that contains the call: here, the call is the last instruction of the previous
 * image. */
START_TEST(calls_at_the_end_of_an_image) {
    struct fixture f;
    set_up(&f, USP_FORMAT_CALL_STACK_SYMBOLS);
    f.options.symbols = NULL;
    f.options.images = f.images;
    f.frames[0].pc = f.frames[1].pc = 0x100008000;
    f.stack.count = f.stack.physical = 2;
    check_stack(&f, NULL,
                "0   ???                                 0x0000000100008000 [unknown]\n"
                "1   Demo                                0x0000000100008000 Demo + 32768\n");
    tear_down(&f);
}
END_TEST

START_TEST(what_was_left_out) {
    struct fixture f;
    set_up(&f, USP_FORMAT_PLAIN);
    f.stack.omitted_at = 1;
    f.stack.omitted = 1000;
    f.stack.physical = 3;
    f.stack.async_join = 1;
    check_stack(&f, NULL,
                "-[Demo run:] + 16\n"
                "    ... 1000 frames left out ...\n"
                "demo::fatal + 256\n"
                "lib\\x1b.dylib + 16\n"
                "    asynchronous callers, from frame 1 on\n"
                "0x0000000000000042\n");
    f.options.style = USP_FORMAT_CALL_STACK_SYMBOLS;
    struct gathered g = {0};
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, gather, &g), USP_OK);
    ck_assert_ptr_nonnull(strstr(g.text, "\n1001 Demo "));
    free(g.text);
    /* The callers of the frame that awaits belong to the executor, not to the async callers. */
    f.options.style = USP_FORMAT_FOLDED;
    check_stack(&f, NULL, "thread;0x42;demo::fatal;[1000 frames left out];-[Demo run:] 1\n");
    f.stack.stop = USP_STOP_CAPACITY;
    f.stack.omitted = 1;
    f.stack.physical = f.stack.count = f.stack.omitted_at = 2;
    f.options.style = USP_FORMAT_PLAIN;
    check_stack(&f, NULL, "-[Demo run:] + 16\ndemo::fatal + 256\n    ... further frames left out ...\n");
    tear_down(&f);
}
END_TEST

START_TEST(filtered) {
    struct fixture f;
    struct usp_filter_options wanted;
    struct usp_filter *filter;
    set_up(&f, USP_FORMAT_CALL_STACK_SYMBOLS);
    usp_filter_options_init(&wanted);
    wanted.flags = USP_FILTER_NO_SYSTEM;
    ck_assert_int_eq(usp_filter_create(f.images, &wanted, &filter), USP_OK);
    f.options.filter = filter;
    check_stack(&f, NULL,
                "0   Demo                                0x0000000100001010 -[Demo run:] + 16\n"
                "1   Demo                                0x0000000100002000 demo::fatal + 256\n"
                "3   ???                                 0x0000000000000042 [unknown]\n");
    usp_filter_free(filter);
    tear_down(&f);
}
END_TEST

START_TEST(json_of_a_stack) {
    struct fixture f;
    set_up(&f, USP_FORMAT_JSON);
    f.stack.count = f.stack.physical = 2;
    f.options.images = f.images;
    const struct usp_thread_info thread = {
        .thread = {.id = 5}, .name = "\"\\\x01\x7f\xff\xc3\xa9", .flags = USP_THREAD_MAIN};
    check_stack(&f, &thread,
                "{\n"
                "  \"version\": 1,\n"
                "  \"process\": {\n"
                "    \"arch\": \"arm64\",\n"
                "    \"os\": \"unknown\",\n"
                "    \"program\": \"\",\n"
                "    \"threads_missed\": 0\n"
                "  },\n"
                "  \"messages\": [],\n"
                "  \"images\": [\n"
                "    {\n"
                "      \"path\": \"/Apps/Demo.app/Demo\",\n"
                "      \"load_address\": \"0x100000000\",\n"
                "      \"end\": \"0x100008000\",\n"
                "      \"uuid\": \"deadbeef313233343536373839616263\"\n"
                "    },\n"
                "    {\n"
                "      \"path\": \"/usr/lib/lib\\u001b.dylib\",\n"
                "      \"load_address\": \"0x200000000\",\n"
                "      \"end\": \"0x200001000\"\n"
                "    }\n"
                "  ],\n"
                "  \"threads\": [\n"
                "    {\n"
                "      \"id\": 5,\n"
                "      \"name\": \"\\\"\\\\\\u0001\\u007f\\ufffd\xc3\xa9\",\n"
                "      \"main\": true,\n"
                "      \"registers\": {},\n"
                "      \"frames\": [\n"
                "        {\n"
                "          \"index\": 0,\n"
                "          \"address\": \"0x100001010\",\n"
                "          \"kind\": \"interrupted\",\n"
                "          \"method\": \"context\",\n"
                "          \"image\": 0,\n"
                "          \"image_offset\": \"0x1010\",\n"
                "          \"symbol\": \"-[Demo run:]\",\n"
                "          \"symbol_offset\": 16,\n"
                "          \"named_by\": \"none\"\n"
                "        },\n"
                "        {\n"
                "          \"index\": 1,\n"
                "          \"address\": \"0x100002000\",\n"
                "          \"kind\": \"return-address\",\n"
                "          \"method\": \"frame-pointer\",\n"
                "          \"image\": 0,\n"
                "          \"image_offset\": \"0x2000\",\n"
                "          \"symbol\": \"demo::fatal\",\n"
                "          \"mangled\": \"_RNvC4demo5fatal\",\n"
                "          \"symbol_offset\": 256,\n"
                "          \"named_by\": \"none\"\n"
                "        }\n"
                "      ],\n"
                "      \"ends\": \"the outermost frame was reached\",\n"
                "      \"ends_at\": \"0x0\",\n"
                "      \"omitted\": 0\n"
                "    }\n"
                "  ]\n"
                "}\n");
    tear_down(&f);
}
END_TEST

/* Makes a snapshot of any processor, from a raw capture. */
static struct usp_snapshot *make_snapshot(const struct fixture *f, uint32_t arch, uint32_t os) {
    struct usp_registers registers;
    struct usp_thread_info infos[2] = {{.thread = {.id = 40}, .name = "main\n", .flags = USP_THREAD_MAIN},
                                       {.thread = {.id = 41}, .run_state = 'D'}};
    struct usp_raw_thread threads[2] = {{.info = &infos[0], .registers = &registers, .stack = &f->stack},
                                        {.info = &infos[1], .status = USP_ERROR_TIMEOUT}};
    struct usp_snapshot *snapshot;
    struct usp_raw_capture raw;
    char path[] = "/tmp/unspool-report-XXXXXX";
    usp_registers_init(&registers, arch);
    usp_registers_set_pc(&registers, 0x1010);
    usp_registers_set_sp(&registers, 0x7000);
    usp_registers_set_fp(&registers, 0x7010);
    usp_registers_set_lr(&registers, 0x2000);
    registers.known |= 3;
    registers.value[0] = 0xa;
    registers.value[1] = 0xb;
    usp_raw_capture_init(&raw);
    raw.arch = arch;
    raw.os = os;
    raw.pid = 40;
    raw.time = UINT64_C(1709210096789000000); /* date -u -d @1709210096 */
    raw.images = f->images;
    raw.threads = threads;
    raw.thread_count = 2;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(usp_raw_write(fd, &raw), USP_OK);
    close(fd);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, NULL, 0), USP_OK);
    unlink(path);
    return snapshot;
}

static void check_snapshot(const struct fixture *f, uint32_t arch, uint32_t os, const char *expected) {
    struct gathered g = {0};
    struct usp_snapshot *snapshot = make_snapshot(f, arch, os);
    ck_assert_int_eq(usp_format_snapshot(snapshot, &f->options, gather, &g), USP_OK);
    ck_assert_str_eq(g.text, expected);
    ck_assert_uint_gt(g.pieces, 0);
    free(g.text);
    usp_snapshot_free(snapshot);
}

START_TEST(crash_report) {
    struct fixture f;
    set_up(&f, USP_FORMAT_CRASH_REPORT);
    f.stack.count = f.stack.physical = 2;
    f.options.crashed_thread = 40;
    check_snapshot(
        &f, USP_ARCH_ARM64, USP_OS_DARWIN,
        "Process:             Demo [40]\n"
        "Path:                /Apps/Demo.app/Demo\n"
        "Code Type:           ARM-64\n"
        "Date/Time:           2024-02-29 12:34:56.789 +0000\n"
        "Report Version:      104\n"
        "\n"
        "Thread 0 name:  main\\x0a\n"
        "Thread 0 Crashed:\n"
        "0   Demo                          \t0x0000000100001010 0x100000000 + 4112\n"
        "1   Demo                          \t0x0000000100002000 0x100000000 + 8192\n"
        "\n"
        "Thread 1:\n"
        "\n"
        "Thread 0 crashed with ARM Thread State (64-bit):\n"
        "    x0: 0x000000000000000a   x1: 0x000000000000000b   fp: 0x0000000000007010   lr: 0x0000000000002000\n"
        "    sp: 0x0000000000007000   pc: 0x0000000000001010\n"
        "\n"
        "Binary Images:\n"
        "0x100000000 - 0x100007fff Demo arm64e  <deadbeef313233343536373839616263> /Apps/Demo.app/Demo\n"
        "0x200000000 - 0x200000fff lib\\x1b.dylib arm64e  <00000000000000000000000000000000> "
        "/usr/lib/lib\\x1b.dylib\n");
    f.options.crashed_thread = 0;
    struct gathered g = {0};
    struct usp_snapshot *snapshot = make_snapshot(&f, USP_ARCH_X86_64, USP_OS_LINUX);
    ck_assert_int_eq(usp_format_snapshot(snapshot, &f.options, gather, &g), USP_OK);
    ck_assert_ptr_nonnull(strstr(g.text, "\nCode Type:           X86-64\n"));
    ck_assert_ptr_nonnull(strstr(g.text, "\nThread 0:\n"));
    ck_assert_ptr_nonnull(strstr(
        g.text, "Thread 0 with X86 Thread State (64-bit):\n"
                "  rax: 0x000000000000000a  rdx: 0x000000000000000b  rbp: 0x0000000000007010  rsp: 0x0000000000007000\n"
                "  rip: 0x0000000000001010\n\n"));
    free(g.text);
    usp_snapshot_free(snapshot);
    tear_down(&f);
}
END_TEST

static void check_part(const char *text, const char *part) {
    if (strstr(text, part) == NULL) ck_abort_msg("%s lacks %s", text, part);
}

/* Sentry's event: the outermost frame comes first, addresses are text. */
START_TEST(sentry) {
    struct fixture f;
    struct gathered g = {0};
    set_up(&f, USP_FORMAT_SENTRY);
    f.options.crashed_thread = 40;
    struct usp_snapshot *snapshot = make_snapshot(&f, USP_ARCH_ARM64, USP_OS_DARWIN);
    ck_assert_int_eq(usp_format_snapshot(snapshot, &f.options, gather, &g), USP_OK);
    check_part(g.text, "  \"timestamp\": 1709210096.789000,\n"
                       "  \"platform\": \"cocoa\",\n"
                       "  \"level\": \"info\",\n"
                       "  \"threads\": {\n"
                       "    \"values\": [\n"
                       "      {\n"
                       "        \"id\": 40,\n"
                       "        \"name\": \"main\\u000a\",\n"
                       "        \"crashed\": true,\n"
                       "        \"current\": true,\n"
                       "        \"main\": true,\n"
                       "        \"stacktrace\": {\n"
                       "          \"frames\": [\n"
                       "            {\"instruction_addr\": \"0x42\"},\n"
                       "            {\"instruction_addr\": \"0x200000010\", \"image_addr\": \"0x200000000\", "
                       "\"package\": \"/usr/lib/lib\\u001b.dylib\"},\n"
                       "            {\"instruction_addr\": \"0x100002000\", \"image_addr\": \"0x100000000\", "
                       "\"package\": \"/Apps/Demo.app/Demo\"},\n"
                       "            {\"instruction_addr\": \"0x100001010\", \"image_addr\": \"0x100000000\", "
                       "\"package\": \"/Apps/Demo.app/Demo\"}\n"
                       "          ],\n"
                       "          \"registers\": {\n"
                       "            \"x0\": \"0xa\",\n"
                       "            \"x1\": \"0xb\",\n"
                       "            \"x29\": \"0x7010\",\n"
                       "            \"x30\": \"0x2000\",\n"
                       "            \"sp\": \"0x7000\",\n"
                       "            \"pc\": \"0x1010\"\n"
                       "          }\n"
                       "        }\n"
                       "      },\n"
                       "      {\n"
                       "        \"id\": 41,\n"
                       "        \"crashed\": false,\n"
                       "        \"current\": false,\n"
                       "        \"main\": false\n"
                       "      }\n"
                       "    ]\n"
                       "  },\n"
                       "  \"contexts\": {\n"
                       "    \"os\": {\n"
                       "      \"name\": \"Darwin\"\n"
                       "    },\n"
                       "    \"device\": {\n"
                       "      \"arch\": \"arm64\"\n"
                       "    },\n"
                       "    \"app\": {\n"
                       "      \"app_name\": \"Demo\"\n"
                       "    },\n"
                       "    \"report\": {\n"
                       "      \"pid\": 40,\n"
                       "      \"program\": \"/Apps/Demo.app/Demo\"\n"
                       "    }\n"
                       "  },\n"
                       "  \"tags\": {},\n"
                       "  \"extra\": {},\n"
                       "  \"breadcrumbs\": {\n"
                       "    \"values\": []\n"
                       "  },\n"
                       "  \"debug_meta\": {\n"
                       "    \"images\": [\n"
                       "      {\n"
                       "        \"type\": \"macho\",\n"
                       "        \"debug_id\": \"DEADBEEF-3132-3334-3536-373839616263\",\n"
                       "        \"code_id\": \"deadbeef313233343536373839616263\",\n"
                       "        \"code_file\": \"/Apps/Demo.app/Demo\",\n"
                       "        \"image_addr\": \"0x100000000\",\n"
                       "        \"image_size\": 32768,\n"
                       "        \"arch\": \"arm64e\"\n"
                       "      },\n"
                       "      {\n"
                       "        \"type\": \"macho\",\n"
                       "        \"debug_id\": \"00000000-0000-0000-0000-000000000000\",\n"
                       "        \"code_file\": \"/usr/lib/lib\\u001b.dylib\",\n"
                       "        \"image_addr\": \"0x200000000\",\n"
                       "        \"image_size\": 4096,\n"
                       "        \"arch\": \"arm64e\"\n"
                       "      }\n"
                       "    ]\n"
                       "  }\n"
                       "}\n");
    free(g.text);
    usp_snapshot_free(snapshot);
    tear_down(&f);
}
END_TEST

/* The same as JSON. Code outside of all images lies in one at address 0, which is the last one. */
START_TEST(ips) {
    struct fixture f;
    struct gathered g = {0};
    set_up(&f, USP_FORMAT_IPS);
    f.options.crashed_thread = 40;
    struct usp_snapshot *snapshot = make_snapshot(&f, USP_ARCH_ARM64, USP_OS_DARWIN);
    ck_assert_int_eq(usp_format_snapshot(snapshot, &f.options, gather, &g), USP_OK);
    check_part(g.text, "{\"app_name\": \"Demo\", \"timestamp\": \"2024-02-29 12:34:56.789 +0000\", ");
    check_part(g.text, "\"bug_type\": \"309\", ");
    check_part(g.text, "\"name\": \"Demo\"}\n{\n  \"version\": 2,\n");
    check_part(g.text, "  \"cpuType\": \"ARM-64\",\n");
    check_part(
        g.text,
        "  \"faultingThread\": 0,\n  \"threads\": [\n    {\n      \"id\": 40,\n      \"name\": \"main\\u000a\",\n"
        "      \"triggered\": true,\n"
        "      \"threadState\": {\n"
        "        \"flavor\": \"ARM_THREAD_STATE64\",\n"
        "        \"x\": [{\"value\": 10}, {\"value\": 11}],\n"
        "        \"fp\": {\"value\": 28688},\n"
        "        \"lr\": {\"value\": 8192},\n"
        "        \"sp\": {\"value\": 28672},\n"
        "        \"pc\": {\"value\": 4112}\n"
        "      },\n"
        "      \"frames\": [\n"
        "        {\"imageOffset\": 4112, \"imageIndex\": 0},\n"
        "        {\"imageOffset\": 8192, \"imageIndex\": 0},\n"
        "        {\"imageOffset\": 16, \"imageIndex\": 1},\n"
        "        {\"imageOffset\": 66, \"imageIndex\": 2}\n"
        "      ]\n"
        "    },\n"
        "    {\n"
        "      \"id\": 41,\n"
        "      \"frames\": []\n"
        "    }\n"
        "  ],\n"
        "  \"usedImages\": [\n"
        "    {\n"
        "      \"source\": \"P\",\n"
        "      \"arch\": \"arm64e\",\n"
        "      \"base\": 4294967296,\n"
        "      \"size\": 32768,\n"
        "      \"uuid\": \"DEADBEEF-3132-3334-3536-373839616263\",\n"
        "      \"path\": \"/Apps/Demo.app/Demo\",\n"
        "      \"name\": \"Demo\"\n"
        "    },\n");
    check_part(g.text, "    {\n"
                       "      \"source\": \"A\",\n"
                       "      \"base\": 0,\n"
                       "      \"size\": 0,\n"
                       "      \"uuid\": \"00000000-0000-0000-0000-000000000000\"\n"
                       "    }\n"
                       "  ]\n"
                       "}\n");
    free(g.text);
    usp_snapshot_free(snapshot);
    tear_down(&f);
}
END_TEST

START_TEST(snapshots) {
    struct fixture f;
    set_up(&f, USP_FORMAT_PLAIN);
    f.stack.count = f.stack.physical = 1;
    check_snapshot(&f, USP_ARCH_ARM64, USP_OS_LINUX,
                   "Thread 40 \"main\\x0a\":\n"
                   "Demo + 4112\n"
                   "\n"
                   "Thread 41:\n"
                   "    no stack: the thread did not answer in time\n");
    f.options.style = USP_FORMAT_BS_BACKTRACE;
    check_snapshot(&f, USP_ARCH_ARM64, USP_OS_LINUX,
                   "Call Backtrace of 2 threads:\n"
                   "Backtrace of Thread 40:\n"
                   "Demo                            0x100001010 Demo + 4112\n"
                   "\n"
                   "Backtrace of Thread 41:\n"
                   "    no stack: the thread did not answer in time\n"
                   "\n");
    f.options.style = USP_FORMAT_FOLDED;
    check_snapshot(&f, USP_ARCH_ARM64, USP_OS_LINUX, "main\\x0a;Demo+0x1010 1\n");
    tear_down(&f);
}
END_TEST

/* ---- untrusted bytes, failing writers ---- */

static int fail_later(void *context, const char *bytes, size_t n) {
    int *left = context;
    (void)bytes;
    (void)n;
    return (*left)-- > 0 ? USP_OK : USP_ERROR_FULL;
}

/* When the writer fails, it is not called again, and its status is returned. */
START_TEST(writers_that_fail) {
    struct fixture f;
    set_up(&f, USP_FORMAT_JSON);
    f.options.images = f.images;
    struct gathered g = {0};
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, gather, &g), USP_OK);
    ck_assert_uint_gt(g.pieces, 3);
    for (unsigned i = 0; i < g.pieces; i++) {
        int left = (int)i;
        ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, fail_later, &left), USP_ERROR_FULL);
        ck_assert_int_eq(left, -1);
    }
    free(g.text);
    tear_down(&f);
}
END_TEST

static void check_escaped(uint32_t escape, const char *bytes, size_t n, const char *expected) {
    char text[128];
    ck_assert_int_eq(usp_format_escaped(text, sizeof text, escape, bytes, n), (int)strlen(expected));
    ck_assert_str_eq(text, expected);
}

START_TEST(escapes) {
    const char mixed[] = "a\0b\n\x7f;\"\\\xc3\xa9\xff\xc2\x80";
    /* RIGHT-TO-LEFT OVERRIDE and similar characters would reorder the displayed text; é is kept. */
    static const char reordered[] = "a\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8f\xc3\xa9\xe2\x80\xaf";
    check_escaped(USP_ESCAPE_TERMINAL, reordered, sizeof reordered - 1,
                  "a\\xe2\\x80\\xae\\xe2\\x81\\xa6\\xd8\\x9c\\xe2\\x80\\x8f\xc3\xa9\xe2\x80\xaf");
    check_escaped(USP_ESCAPE_TERMINAL, mixed, sizeof mixed - 1, "a\\x00b\\x0a\\x7f;\"\\\xc3\xa9\\xff\\xc2\\x80");
    check_escaped(USP_ESCAPE_FOLDED, mixed, sizeof mixed - 1, "a\\x00b\\x0a\\x7f\\x3b\"\\\xc3\xa9\\xff\\xc2\\x80");
    check_escaped(USP_ESCAPE_JSON, mixed, sizeof mixed - 1, "a\\u0000b\\u000a\\u007f;\\\"\\\\\xc3\xa9\\ufffd\\u0080");
    /* The bytes of a program reach a terminal in JSON too: CSI as one character, and a text direction override. */
    check_escaped(USP_ESCAPE_JSON,
                  "\xc2\x9b"
                  "31m\xe2\x80\xae",
                  8, "\\u009b31m\\u202e");
    check_escaped(USP_ESCAPE_JSON, "\xc2\xa0\xe2\x81\xa9\xd8\x9c", 7, "\xc2\xa0\\u2069\\u061c");
    check_escaped(USP_ESCAPE_JSON, "", 0, "");
    /* RFC 3629: overlong, a surrogate, above U+10FFFF, cut off; then the highest valid character. */
    check_escaped(USP_ESCAPE_JSON, "\xc0\x80", 2, "\\ufffd\\ufffd");
    check_escaped(USP_ESCAPE_JSON, "\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd");
    check_escaped(USP_ESCAPE_JSON, "\xf4\x90\x80\x80", 4, "\\ufffd\\ufffd\\ufffd\\ufffd");
    check_escaped(USP_ESCAPE_JSON, "\xe2\x82", 2, "\\ufffd\\ufffd");
    check_escaped(USP_ESCAPE_JSON, "\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf");
    char text[8];
    ck_assert_int_eq(usp_format_escaped(text, sizeof text, 9, "a", 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_escaped(NULL, 8, USP_ESCAPE_JSON, "a", 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_escaped(text, sizeof text, USP_ESCAPE_JSON, NULL, 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_escaped(NULL, 0, USP_ESCAPE_JSON, "\n", 1), 6);
}
END_TEST

/* Every pair of bytes as a name: no control character is written, and JSON strings stay closed and valid UTF-8. */
START_TEST(any_bytes) {
    unsigned harmful = 0;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        const char bytes[2] = {(char)(pair >> 8), (char)pair};
        char text[32];
        int length = usp_format_escaped(text, sizeof text, USP_ESCAPE_FOLDED, bytes, 2);
        for (int i = 0; i < length; i++) harmful += (uint8_t)text[i] < 0x20 || text[i] == 0x7f || text[i] == ';';
        length = usp_format_escaped(text, sizeof text, USP_ESCAPE_JSON, bytes, 2);
        for (int i = 0; i < length;) {
            uint32_t character = 0;
            size_t n = uspi_utf8_decode(text + i, (size_t)(length - i), &character);
            harmful += n == 0 || character < 0x20 || character == '"';
            i += n == 0 ? 1 : character == '\\' ? 2 : (int)n;
        }
    }
    ck_assert_uint_eq(harmful, 0);
}
END_TEST

START_TEST(arguments) {
    struct fixture f;
    struct gathered g = {0};
    set_up(&f, 99);
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, gather, &g), USP_ERROR_ARGUMENT);
    f.options.style = USP_FORMAT_PLAIN;
    ck_assert_int_eq(usp_format_stack(NULL, NULL, &f.options, gather, &g), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, NULL, &g), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_format_snapshot(NULL, &f.options, gather, &g), USP_ERROR_ARGUMENT);
    f.options.size = 4;
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, &f.options, gather, &g), USP_ERROR_ARGUMENT);
    f.stack.arch = USP_ARCH_NONE;
    ck_assert_int_eq(usp_format_stack(&f.stack, NULL, NULL, gather, &g), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(g.text);
    ck_assert_str_eq(usp_run_state_string(USP_OS_LINUX, 'S'), "sleeping");
    ck_assert_ptr_null(usp_run_state_string(USP_OS_LINUX, '?'));
    ck_assert_ptr_null(usp_run_state_string(USP_OS_DARWIN, 'S'));
    ck_assert_str_eq(usp_strategy_string(USP_STRATEGY_OBJC_METADATA), "objc-metadata");
    ck_assert_str_eq(usp_strategy_string(99), "none");
    tear_down(&f);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, lines, unverified, calls_at_the_end_of_an_image, what_was_left_out, filtered, json_of_a_stack,
              crash_report, ips, sentry, snapshots, writers_that_fail, escapes, any_bytes, arguments);
    return run_suite("report", all);
}
