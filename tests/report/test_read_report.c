/* SPDX-License-Identifier: MIT */
/* Tests of reports (<unspool/report.h>): each kind of text in the layout for people and in JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/report.h>

#include "lib/base/gathered.h"
#include "tests/support/report_texts.h"
#include "tests/support/suite.h"

/* ---- reports of texts ---- */

struct output {
    char *text;
    size_t size, capacity;
};

static int gather(void *context, const char *bytes, size_t n) {
    struct output *output = context;
    if (output->size + n + 1 > output->capacity) {
        output->capacity = 2 * (output->size + n + 1);
        output->text = realloc(output->text, output->capacity);
        ck_assert_ptr_nonnull(output->text);
    }
    memcpy(output->text + output->size, bytes, n);
    output->size += n;
    output->text[output->size] = '\0';
    return USP_OK;
}

/* Symbolicates frames in App by their offset; at 0x20 with an inlined call. Other images have no file. */
static int name_app(void *context, const struct usp_place *place, struct usp_answer *answer) {
    static struct usp_source_frame frames[2];
    static char name[32];
    (void)context;
    if (place->image_length != 3 || memcmp(place->image, "App", 3) != 0) {
        answer->flags = USP_ANSWER_NO_FILE;
        return USP_OK;
    }
    const bool is_inlined = place->offset == 0x20;
    snprintf(name, sizeof name, "f%llx", (unsigned long long)place->offset);
    frames[0] =
        (struct usp_source_frame){.function = "inner", .file = "/src/b.c", .line = 3, .flags = USP_SOURCE_INLINED};
    frames[1] = (struct usp_source_frame){.function = name, .file = "/src/a.c", .line = 9};
    answer->frames = is_inlined ? frames : frames + 1;
    answer->count = is_inlined ? 2 : 1;
    answer->offset = 4;
    return USP_OK;
}

static struct usp_report *read_text(const char *text) {
    struct usp_reader_options options;
    struct usp_report *report;
    char error[128];
    usp_reader_options_init(&options);
    options.find = name_app;
    const int status = usp_report_create(&options, text, strlen(text), &report, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%d %s", status, error);
    return report;
}

/* A text that is read in pieces of a few bytes, until one fails. */
struct pieces {
    const char *rest;
    size_t fails_after; /* pieces */
};

static int read_piece(void *context, char *bytes, size_t size, size_t *n) {
    struct pieces *pieces = context;
    const size_t length = strlen(pieces->rest), wanted = length < 3 ? length : 3;
    if (pieces->fails_after-- == 0) return USP_ERROR_SYSTEM;
    *n = wanted < size ? wanted : size;
    memcpy(bytes, pieces->rest, *n);
    pieces->rest += *n;
    return USP_OK;
}

static struct usp_report *read_in_pieces(const char *text) {
    struct pieces pieces = {.rest = text, .fails_after = SIZE_MAX};
    struct usp_reader_options options;
    struct usp_report *report;
    char error[128];
    usp_reader_options_init(&options);
    options.find = name_app;
    const int status = usp_report_read(&options, read_piece, &pieces, &report, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%d %s", status, error);
    return report;
}

static void check_report(const char *in, const char *expected, uint32_t style) {
    struct usp_report *const reports[] = {read_text(in), read_in_pieces(in)};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct output output = {.text = NULL};
        ck_assert_int_eq(usp_report_format(reports[i], style, gather, &output), USP_OK);
        ck_assert_msg(strcmp(output.text != NULL ? output.text : "", expected) == 0, "is:\n%s\nnot:\n%s", output.text,
                      expected);
        free(output.text);
        usp_report_free(reports[i]);
    }
}

#define APP  "App                           \t"
#define LIBZ "libz.dylib                    \t"

/* ---- crashes ---- */

/* A crash report in the format of Apple, "Interpreting the JSON format of a crash report". A terminal would obey the
 * thread's name. */
static const char crash[] =
    "{\"app_name\":\"App\",\"timestamp\":\"2026-11-22 10:00:00.00 +0000\",\"app_version\":\"1.2\",\"bug_type\":\"309\","
    "\"os_version\":\"iPhone OS 17.5.1 (21F90)\"}\n"
    "{\"procName\":\"App\",\"pid\":4711,\"cpuType\":\"ARM-64\",\"exception\":{\"codes\":\"0x1, 0x8\",\"type\":"
    "\"EXC_BAD_ACCESS\",\"subtype\":\"KERN_INVALID_ADDRESS at 0x8\"},\"termination\":{\"indicator\":\"Segmentation "
    "fault: 11\"},\"faultingThread\":1,\n"
    "\"threads\":[{\"id\":7,\"queue\":\"com.apple.main-thread\",\"frames\":[{\"imageOffset\":16,\"imageIndex\":1}]},"
    "{\"id\":9,\"name\":\"w\\u001b[31m\",\"frames\":[{\"imageOffset\":32,\"imageIndex\":0},{\"imageOffset\":48,"
    "\"symbol\":\"kept\",\"symbolLocation\":4,\"imageIndex\":0}]}],\n"
    "\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"uuid\":\"" UUID_A
    "\",\"path\":\"\\/private\\/App\",\"name\":"
    "\"App\",\"arch\":\"arm64\"},{\"base\":8589934592,\"size\":4096,\"uuid\":\"" UUID_B
    "\",\"path\":\"\\/usr\\/lib\\/libz.dylib\",\"name\":\"libz.dylib\"}],\n"
    "\"lastExceptionBacktrace\":[{\"imageOffset\":80,\"imageIndex\":0}]}\n";

START_TEST(a_crash) {
    check_report(crash,
                 "Process:             App [4711]\n"
                 "Version:             1.2\n"
                 "Code Type:           ARM-64\n"
                 "OS Version:          iPhone OS 17.5.1 (21F90)\n"
                 "Date/Time:           2026-11-22 10:00:00.00 +0000\n"
                 "\n"
                 "Exception Type:      EXC_BAD_ACCESS\n"
                 "Exception Subtype:   KERN_INVALID_ADDRESS at 0x8\n"
                 "Exception Codes:     0x1, 0x8\n"
                 "Termination Reason:  Segmentation fault: 11\n"
                 "Triggered by Thread: 1\n"
                 "\n"
                 "Last Exception Backtrace:\n"
                 "0   " APP "0x0000000100000050 f50 + 4 (a.c:9)\n"
                 "\n"
                 "Thread 1 name:  w\\x1b[31m\n"
                 "Thread 1 Crashed:\n"
                 "0   " APP "0x0000000100000020 inner [inlined] (b.c:3)\n"
                 "0   " APP "0x0000000100000020 f20 + 4 (a.c:9)\n"
                 "1   " APP "0x0000000100000030 kept + 4\n"
                 "\n"
                 "Thread 0 name:  Dispatch queue: com.apple.main-thread\n"
                 "Thread 0:\n"
                 "0   " LIBZ "0x0000000200000010 0x200000000 + 16\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /private/App\n"
                 "0x200000000 - 0x200000fff libz.dylib <b000000000000000000000000000000b> /usr/lib/libz.dylib\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

START_TEST(a_crash_in_json) {
    struct output output = {.text = NULL};
    struct usp_report *report = read_text(crash);
    static const char *const parts[] = {
        "\"format\": \"ips\"",
        "\"process\": \"App\"",
        "\"exception_type\": \"EXC_BAD_ACCESS\"",
        "\"stack\": \"Last Exception Backtrace\"",
        "\"crashed\": true",
        "\"symbol\": \"f20\"",
        "\"inlined\": [{\"symbol\": \"inner\"",
        "\"name\": \"w\\u001b[31m\"",
        ("\"image_id\": \"b000000000000000000000000000000b\", \"address\": \"0x200000010\", \"image_offset\": "
         "\"0x10\", "
         "\"missing\": \"file\""),
    };
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_JSON, gather, &output), USP_OK);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(output.text, parts[i]) != NULL, "no %s in\n%s", parts[i], output.text);
    }
    free(output.text);
    usp_report_free(report);
}
END_TEST

/* A .crash report with a thousand lines of information: none is left out, and each has its line. */
START_TEST(long_information) {
    struct uspi_gathered text = {.bytes = NULL}, expected = {.bytes = NULL};
    char line[64];
    static const char begin[] = "Process:             App\n\nApplication Specific Information:\n";
    static const char end[] = "\nThread 0:\n0   App 0x0000000100000010 0x100000000 + 16\n\nBinary Images:\n"
                              "0x100000000 - 0x10000ffff App arm64 /x/App\n";
    static const char shown[] = "\nThread 0:\n0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n";
    ck_assert_int_eq(uspi_gathered_append(&text, begin, sizeof begin - 1), USP_OK);
    ck_assert_int_eq(uspi_gathered_append(&expected, begin, sizeof begin - 1), USP_OK);
    for (unsigned i = 0; i < 1000; i++) {
        const int n = snprintf(line, sizeof line, "  breadcrumb %u of a thousand\n", i);
        ck_assert_int_eq(uspi_gathered_append(&text, line, (size_t)n), USP_OK);
        ck_assert_int_eq(uspi_gathered_append(&expected, line, (size_t)n), USP_OK);
    }
    ck_assert_int_eq(uspi_gathered_append(&text, end, sizeof end), USP_OK);
    ck_assert_int_eq(uspi_gathered_append(&expected, shown, sizeof shown), USP_OK);
    struct usp_report *report = read_text(text.bytes);
    struct uspi_gathered out = {.bytes = NULL};
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, uspi_gathered_append, &out), USP_OK);
    ck_assert_uint_gt(out.size, expected.size);
    if (memcmp(out.bytes, expected.bytes, expected.size - 1) != 0) ck_abort_msg("%.2000s", out.bytes);
    usp_report_free(report);
    uspi_gathered_clear(&out);
    uspi_gathered_clear(&text);
    uspi_gathered_clear(&expected);
}
END_TEST

/* Appends " text-N" of two fields that alternate, and what a report shows of them. */
static void append_alternating(struct uspi_gathered *text, struct uspi_gathered shown[2], unsigned number) {
    static const char *const labels[] = {"VM Region Info", "Termination Reason"};
    char line[128];
    for (unsigned i = 0; i < 2; i++) {
        int n = snprintf(line, sizeof line, "%s:\n%s %u is a text of some length\n\n", labels[i], labels[i], number);
        ck_assert_int_eq(uspi_gathered_append(text, line, (size_t)n), USP_OK);
        n = snprintf(line, sizeof line, " %s %u is a text of some length", labels[i], number);
        ck_assert_int_eq(uspi_gathered_append(&shown[i], line, (size_t)n), USP_OK);
    }
}

/* Texts of two fields that alternate, line by line: none is left out, however long the text before it. */
START_TEST(long_texts_that_alternate) {
    struct uspi_gathered text = {.bytes = NULL}, shown[2] = {{.bytes = NULL}, {.bytes = NULL}};
    struct uspi_gathered out = {.bytes = NULL};
    static const char begin[] = "Process:             App\n\n";
    static const char end[] = "Thread 0:\n0   App 0x0000000100000010 0x100000000 + 16\n";
    ck_assert_int_eq(uspi_gathered_append(&text, begin, sizeof begin - 1), USP_OK);
    for (unsigned i = 0; i < 200; i++) append_alternating(&text, shown, i);
    ck_assert_int_eq(uspi_gathered_append(&text, end, sizeof end), USP_OK);
    struct usp_report *report = read_text(text.bytes);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, uspi_gathered_append, &out), USP_OK);
    ck_assert_int_eq(uspi_gathered_append(&out, "", 1), USP_OK);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(uspi_gathered_append(&shown[i], "\n", 2), USP_OK);
        if (strstr(out.bytes, shown[i].bytes) == NULL) ck_abort_msg("field %u is not whole: %.2000s", i, out.bytes);
        uspi_gathered_clear(&shown[i]);
    }
    usp_report_free(report);
    uspi_gathered_clear(&out);
    uspi_gathered_clear(&text);
}
END_TEST

/* Each line of a message has its own line. A stack in it is shown as a stack. */
START_TEST(message_of_lines) {
    check_report("{\"asi\":{\"App\":[\"first\\nsecond\\n\\nthird \\n0   App 0x0000000100000010 0x100000000 + "
                 "16\\n\",\"other\"]},"
                 "\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":["
                 "{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
                 "Application Specific Information:\n"
                 "  first\n"
                 "  second\n"
                 "  \n"
                 "  third\n"
                 "  other\n"
                 "\n"
                 "App:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* A program's message that reads like a part of the report does not look like one. */
START_TEST(imitated_heading) {
    check_report("{\"asi\":{\"App\":[\"Thread 7 Crashed:\",\"Binary Images:\"]},"
                 "\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":["
                 "{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
                 "Application Specific Information:\n"
                 "  Thread 7 Crashed:\n"
                 "  Binary Images:\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* The message of an exception is its reason, in text as in JSON (fields_of_ips). */
START_TEST(message_of_an_exception) {
    check_report("Exception Type:        SIGSEGV\n"
                 "Exception Subtype:     SEGV_MAPERR\n"
                 "Exception Message:     a null pointer\n\n"
                 "Thread 0 Crashed:\n"
                 "0   App 0x0000000100000010 0x100000000 + 16\n\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /x/App\n",
                 "Exception Type:      SIGSEGV\n"
                 "Exception Subtype:   SEGV_MAPERR\n"
                 "Exception Reason:    a null pointer\n"
                 "\n"
                 "Thread 0 Crashed:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> /x/App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Fields of an .ips report: of a watchdog's (Apple, "Addressing watchdog terminations"), the message of a Swift
 * run-time error, an exception, and frames with a source line, as in "Interpreting the JSON format of a crash
 * report". */
START_TEST(fields_of_ips) {
    check_report("{\"app_name\":\"App\",\"app_version\":\"1.2\",\"build_version\":\"345\",\"bug_type\":\"309\"}\n"
                 "{\"bundleInfo\":{\"CFBundleShortVersionString\":\"1.2\",\"CFBundleVersion\":\"345\"},"
                 "\"osVersion\":{\"train\":\"iPhone OS 17.5\",\"build\":\"21F79\"},"
                 "\"exception\":{\"type\":\"EXC_CRASH\",\"signal\":\"SIGKILL\"},"
                 "\"termination\":{\"code\":2343432205,\"namespace\":\"FRONTBOARD\",\"reasons\":[\"scene-create "
                 "watchdog transgression\",\"exhausted real time allowance of 19.97 seconds\"]},"
                 "\"exceptionReason\":{\"composed_message\":\"index 3\",\"name\":\"NSRangeException\"},"
                 "\"vmRegionInfo\":\"0 is not in any region.\\n   REGION TYPE\","
                 "\"asi\":{\"libswiftCore.dylib\":[\"Shop\\/Cart.swift:31: Fatal error: Index out of range\\n\"]},\n"
                 "\"threads\":[{\"triggered\":true,\"frames\":[{\"imageOffset\":16,\"symbol\":\"caf\\u00e9()\","
                 "\"symbolLocation\":4,\"sourceFile\":\"Cart.swift\",\"sourceLine\":31,\"imageIndex\":0,"
                 "\"inlined\":[{\"symbol\":\"index\",\"sourceFile\":\"Array.swift\",\"sourceLine\":7}]}]}],"
                 "\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}\n",
                 "Process:             App\n"
                 "Version:             1.2 (345)\n"
                 "OS Version:          iPhone OS 17.5 (21F79)\n"
                 "\n"
                 "Exception Type:      EXC_CRASH (SIGKILL)\n"
                 "Exception Reason:    index 3 (NSRangeException)\n"
                 "Termination Reason:  Namespace FRONTBOARD, Code 0x8badf00d: scene-create watchdog transgression "
                 "exhausted real time allowance of 19.97 seconds\n"
                 "VM Region Info:      0 is not in any region.\n"
                 "\n"
                 "Application Specific Information:\n"
                 "  Shop/Cart.swift:31: Fatal error: Index out of range\n"
                 "\n"
                 "Thread 0 Crashed:\n"
                 "0   " APP "0x0000000100000010 index [inlined] (Array.swift:7)\n"
                 "0   " APP "0x0000000100000010 caf\303\251() + 4 (Cart.swift:31)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n",
                 USP_REPORT_TEXT);
    /* The words of the exception; each text of several images, and each remark, has its line. */
    check_report("{\"exception\":{\"type\":\"SIGSEGV\",\"subtype\":\"SEGV_MAPERR\",\"message\":\"a null pointer\"},"
                 "\"asi\":{\"values\":[\"user: anna\",\"a\\u0007b\"],\"breadcrumbs\":[\"step 1\"]},"
                 "\"reportNotes\":[\"1 thread did not answer\"],"
                 "\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":["
                 "{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
                 "Exception Type:      SIGSEGV\n"
                 "Exception Subtype:   SEGV_MAPERR\n"
                 "Exception Reason:    a null pointer\n"
                 "\n"
                 "Application Specific Information:\n"
                 "  user: anna\n"
                 "  a\\x07b\n"
                 "  step 1\n"
                 "  1 thread did not answer\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n",
                 USP_REPORT_TEXT);
    /* A DYLD termination is recognized by its namespace and code. */
    check_report("{\"termination\":{\"code\":1,\"namespace\":\"DYLD\",\"indicator\":\"Library missing\",\"details\":["
                 "\"(terminated at launch)\"]},\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}],\"usedImages\":["
                 "{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
                 "Termination Reason:  Namespace DYLD, Code 1 Library missing: (terminated at launch)\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Each of several reports in one document has its own images; the last report has none. */
START_TEST(images_of_several) {
    check_report("[{\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}],\"threads\":[{\"frames\":["
                 "{\"imageOffset\":16,\"imageIndex\":0}]}]},\n"
                 "{\"threads\":[{\"frames\":[{\"imageOffset\":48,\"imageIndex\":0}]}],"
                 "\"usedImages\":[{\"base\":8589934592,\"size\":4096,\"name\":\"lib\"}]},\n"
                 "{\"threads\":[{\"frames\":[{\"imageOffset\":48,\"imageIndex\":0}]}],\"usedImages\":[]}]",
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App\n"
                 "\n"
                 "----\n"
                 "\n"
                 "Thread 0:\n"
                 "0   lib                           \t0x0000000200000030 0x200000000 + 48\n"
                 "\n"
                 "Binary Images:\n"
                 "0x200000000 - 0x200000fff lib\n"
                 "\n"
                 "----\n"
                 "\n"
                 "Thread 0:\n"
                 "0   ???                           \t+0x30              ???\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Two panics in a text, each with a list of images of its own; the forms are those of tests/support/report_texts.h. */
START_TEST(panics) {
    check_report("panic(cpu 8 caller 0xfffffe0010101d1c): Kernel data abort.\n"
                 "OS version: 25F84\n"
                 "Kernel UUID: " UUID_A "\n"
                 "Kernel text base:  0xfffffe0010000000\n"
                 "Kernel text exec base:  0xfffffe0010100000\n"
                 "Panicked task 0xfffffe200b09dd80: 0 pages, 600 threads: pid 0: kernel_task\n"
                 "Panicked thread: 0xfffffe1b3e61f7b8, backtrace: 0xfffffe4440973800, tid: 255\n"
                 "\t\t  lr: 0xfffffe0010100100  fp: 0xfffffe4440973890\n"
                 "\t\t  lr: 0xfffffe0010a00200  fp: 0x0000000000000000\n"
                 "      Kernel Extensions in backtrace:\n"
                 "         App(1.0)[" UUID_B "]@0xfffffe0010a00180->0xfffffe0010a0ffff\n"
                 "\n"
                 "panic(cpu 4 caller 0xffffff8010147aea): \"NO PCB!\"\n"
                 "Backtrace (CPU 4), Frame : Return Address\n"
                 "0xffffffa3eef0ba10 : 0xffffff8010000100 \n"
                 "0xffffffa3eef0ba60 : 0xffffff7f91093200 \n"
                 "      Kernel Extensions in backtrace:\n"
                 "         App(1.0)[" UUID_B "]@0xffffff7f91093000->0xffffff7f910bffff\n"
                 "\n"
                 "Process name corresponding to current thread (0xffffff90459c1598): kernel_task\n"
                 "\n"
                 "Mac OS version:\n"
                 "19H15\n"
                 "\n"
                 "Kernel version:\n"
                 "Darwin Kernel Version 19.6.0\n"
                 "Kernel UUID: " UUID_A "\n"
                 "Kernel text base: 0xffffff8010000000\n"
                 "System model name: MacBookPro15,1 (Mac-937A206F2EE63C01)\n",
                 "Process:             kernel_task\n"
                 "OS Version:          25F84\n"
                 "\n"
                 "Exception Type:      panic(cpu 8 caller 0xfffffe0010101d1c): Kernel data abort.\n"
                 "\n"
                 "Thread 255 Crashed:\n"
                 "0   kernel                        \t0xfffffe0010100100 ??? (in the code at 0x100)\n"
                 "1   " APP "0xfffffe0010a00200 f80 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0xfffffe0010100000 - 0xffffffffffffffff kernel <0123abcd456789abcdef0123456789ab>\n"
                 "0xfffffe0010a00180 - 0xfffffe0010a0ffff App <b000000000000000000000000000000b>\n"
                 "\n"
                 "----\n"
                 "\n"
                 "Process:             kernel_task\n"
                 "Version:             Darwin Kernel Version 19.6.0\n"
                 "Hardware Model:      MacBookPro15,1 (Mac-937A206F2EE63C01)\n"
                 "OS Version:          19H15\n"
                 "\n"
                 "Exception Type:      panic(cpu 4 caller 0xffffff8010147aea): \"NO PCB!\"\n"
                 "\n"
                 "Panicked thread:\n"
                 "0   kernel                        \t0xffffff8010000100 0xffffff8010000000 + 256\n"
                 "1   " APP "0xffffff7f91093200 f200 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0xffffff7f91093000 - 0xffffff7f910bffff App <b000000000000000000000000000000b>\n"
                 "0xffffff8010000000 - 0xffffffffffffffff kernel <0123abcd456789abcdef0123456789ab>\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* inket/MacSymbolicator StackFrameTests.swift. */
START_TEST(application_backtrace) {
    check_report("Application Specific Information:\n"
                 "abort() called\n"
                 "\n"
                 "Application Specific Backtrace 0:\n"
                 "0   App                                 0x0000000100000100 App + 256\n"
                 "1   libz.dylib                          0x0000000180000200 read + 8\n"
                 "\n"
                 "Thread 1 Crashed:\n"
                 "0   App    \t0x0000000100000300 0x100000000 + 768\n",
                 "Application Specific Information:\n"
                 "  abort() called\n"
                 "\n"
                 "Application Specific Backtrace 0:\n"
                 "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"
                 "1   " LIBZ "0x0000000180000200 read + 8\n"
                 "\n"
                 "Thread 1 Crashed:\n"
                 "0   " APP "0x0000000100000300 f300 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

START_TEST(text_of_apple) {
    check_report("Process:             App [7]\n"
                 "Exception Type:  EXC_CRASH (SIGABRT)\n"
                 "Triggered by Thread:  1\n"
                 "\n"
                 "Thread 0 name:  Dispatch queue: com.apple.main-thread\n"
                 "Thread 0:\n"
                 "0   libz.dylib   0x180000200 read + 8\n"
                 "\n"
                 "Thread 1 Crashed:\n"
                 "0   App    \t0x0000000100000100 0x100000000 + 256\n"
                 "\n" IMAGES,
                 "Process:             App [7]\n"
                 "\n"
                 "Exception Type:      EXC_CRASH (SIGABRT)\n"
                 "Triggered by Thread: 1\n"
                 "\n"
                 "Thread 1 Crashed:\n"
                 "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"
                 "\n"
                 "Thread 0 name:  Dispatch queue: com.apple.main-thread\n"
                 "Thread 0:\n"
                 "0   " LIBZ "0x0000000180000200 read + 8\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App <0123abcd456789abcdef0123456789ab> /Applications/App.app/App\n"
                 "0x180000000 - 0x18000ffff libz.dylib arm64e <b000000000000000000000000000000b> /usr/lib/libz.dylib\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Two diagnostics of a payload give two reports. A crash's stack begins with the innermost frame. Each has the thread
 * that it is about, but only that of the crash has crashed. */
START_TEST(metrickit) {
    check_report(
        "{\"crashDiagnostics\":[{\"diagnosticMetaData\":{\"bundleIdentifier\":\"com.example\",\"exceptionType\":1},"
        "\"callStackTree\":{\"callStacks\":[{\"threadAttributed\":true,\"callStackRootFrames\":[{\"binaryUUID\":"
        "\"" UUID_A
        "\",\"offsetIntoBinaryTextSegment\":256,\"binaryName\":\"App\",\"address\":4294967552,\"subFrames\":[{"
        "\"binaryUUID\":\"" UUID_B
        "\",\"offsetIntoBinaryTextSegment\":512,\"address\":8589935104,\"binaryName\":\"libz.dylib\"}]}]}]}}],"
        "\"hangDiagnostics\":[{\"diagnosticMetaData\":{\"hangDuration\":\"20 sec\"},\"callStackTree\":{\"callStacks\":"
        "[{\"threadAttributed\":true,\"callStackRootFrames\":[{\"binaryUUID\":\"" UUID_A
        "\",\"offsetIntoBinaryTextSegment\":256,\"binaryName\":\"App\",\"address\":4294967552,\"sampleCount\":9,"
        "\"subFrames\":[{\"binaryUUID\":\"" UUID_A
        "\",\"offsetIntoBinaryTextSegment\":1,\"binaryName\":\"App\",\"address\":4294967297,\"sampleCount\":2},"
        "{\"binaryUUID\":\"" UUID_B "\",\"offsetIntoBinaryTextSegment\":512,\"address\":8589935104,\"binaryName\":"
        "\"libz.dylib\",\"sampleCount\":7}]"
        "}]}]}}]}",
        "Identifier:          com.example\n"
        "Event:               crash\n"
        "\n"
        "Exception Type:      EXC_BAD_ACCESS\n"
        "\n"
        "Thread 0 Crashed:\n"
        "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"
        "1   " LIBZ "0x0000000200000200 0x200000000 + 512\n"
        "\n"
        "Binary Images:\n"
        "0x100000000 - ??? App <0123abcd456789abcdef0123456789ab>\n"
        "0x200000000 - ??? libz.dylib <b000000000000000000000000000000b>\n"
        "\n"
        "----\n"
        "\n"
        "Event:               hang\n"
        "Duration:            20 sec\n"
        "\n"
        "Thread 0:\n"
        "Heaviest stack:\n"
        "  9    f100 + 4 (a.c:9) (in App) [0x100000100]\n"
        "  7    0x200000000 + 512 (in libz.dylib) [0x200000200]\n"
        "Call tree:\n"
        "  9    f100 + 4 (a.c:9) (in App) [0x100000100]\n"
        "    2    f1 + 4 (a.c:9) (in App) [0x100000001]\n"
        "    7    0x200000000 + 512 (in libz.dylib) [0x200000200]\n"
        "\n"
        "Binary Images:\n"
        "0x100000000 - ??? App <0123abcd456789abcdef0123456789ab>\n"
        "0x200000000 - ??? libz.dylib <b000000000000000000000000000000b>\n"
        "\n",
        USP_REPORT_TEXT);
}
END_TEST

/* Diagnostics without the key of their kind around them: only the data of a crash says that its thread crashed. */
START_TEST(metrickit_alone) {
#define ALONE(data)                                                                                                    \
    "{" data "\"callStackTree\":{\"callStacks\":[{\"threadAttributed\":true,\"callStackRootFrames\":[{"                \
    "\"offsetIntoBinaryTextSegment\":256,\"binaryName\":\"App\",\"address\":4294967552}]}]}}"
#define STACK(words)                                                                                                   \
    "Thread 0" words ":\n"                                                                                             \
    "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"                                                                 \
    "\n"                                                                                                               \
    "Binary Images:\n"                                                                                                 \
    "0x100000000 - ??? App\n"                                                                                          \
    "\n"
    check_report(ALONE(""), STACK(""), USP_REPORT_TEXT);
    check_report(ALONE("\"diagnosticMetaData\":{\"hangDuration\":\"2 sec\"},"),
                 "Duration:            2 sec\n\n" STACK(""), USP_REPORT_TEXT);
    check_report(ALONE("\"diagnosticMetaData\":{\"signal\":11},"), "Exception Type:      SIGSEGV\n\n" STACK(" Crashed"),
                 USP_REPORT_TEXT);
#undef ALONE
#undef STACK
}
END_TEST

/* The fields of a payload that hold for all its diagnostics (Apple, MXDiagnostic and MXCrashDiagnostic). */
START_TEST(metrickit_fields) {
    check_report("{\"timeStampBegin\":\"2026-11-24 08:00:00\",\"timeStampEnd\":\"2026-11-25 08:00:00\","
                 "\"crashDiagnostics\":[{\"diagnosticMetaData\":{\"appVersion\":\"1.2\",\"appBuildVersion\":\"345\","
                 "\"exceptionType\":1,\"signal\":11,\"exceptionCode\":2,\"virtualMemoryRegionInfo\":\"0 is not in any "
                 "region.\\n  REGION TYPE\",\"objectiveCexceptionReason\":{\"composedMessage\":\"index 3 beyond "
                 "bounds\",\"exceptionName\":\"NSRangeException\"}},\"callStackTree\":{\"callStacks\":[{"
                 "\"callStackRootFrames\":[{\"offsetIntoBinaryTextSegment\":256,\"binaryName\":\"App\",\"address\":"
                 "4294967552}]}]}}]}",
                 "Version:             1.2 (345)\n"
                 "Date/Time:           2026-11-24 08:00:00\n"
                 "End time:            2026-11-25 08:00:00\n"
                 "Event:               crash\n"
                 "\n"
                 "Exception Type:      EXC_BAD_ACCESS (SIGSEGV)\n"
                 "Exception Codes:     2\n"
                 "Exception Reason:    index 3 beyond bounds (NSRangeException)\n"
                 "VM Region Info:      0 is not in any region.\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* What Apple's tools write for flags of an .ips, and what the kernel has recorded. A flag that is 0 says nothing. */
START_TEST(notes_of_ips) {
    static const struct {
        const char *flags, *note;
    } rows[] = {
        {"\"isCorpse\":1", "Exception Note:      EXC_CORPSE_NOTIFY\n"},
        {"\"isCorpse\":0", ""},
        {"\"isCorpse\":1,\"isSimulated\":true", "Exception Note:      SIMULATED (this is NOT a crash)\n"},
        {"\"isSimulated\":1,\"simulatedCaller\":\"tester\"",
         "Exception Note:      SIMULATED (this is NOT a crash) requested by tester\n"},
        {"\"isNonFatal\":1", "Exception Note:      NON-FATAL CONDITION (this is NOT a crash)\n"},
    };
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char in[512], expected[512];
        snprintf(in, sizeof in,
                 "{\"exception\":{\"type\":\"EXC_GUARD\"},%s,\"ktriageinfo\":\"VM - one\\nVM - two\\n\","
                 "\"legacyInfo\":{\"threadHighlighted\":0},"
                 "\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]}],"
                 "\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
                 rows[i].flags);
        snprintf(expected, sizeof expected,
                 "Exception Type:      EXC_GUARD\n%sTriggered by Thread: 0\n\n"
                 "Kernel Triage:\n  VM - one\n  VM - two\n\n"
                 "Thread 0 Crashed:\n0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n\n"
                 "Binary Images:\n0x100000000 - 0x10000ffff App\n\n",
                 rows[i].note);
        check_report(in, expected, USP_REPORT_TEXT);
    }
}
END_TEST

/* A reason of several lines keeps them, in every format; a stack in it is shown as a stack. Lines that
 * are read again lose the blanks before them. */
START_TEST(reasons_of_lines) {
#define LINES "\"no item:\\n  key = 1\\n0   App 0x0000000100000010 0x100000000 + 16\\n\""
    static const char *const texts[] = {
        "{\"crash\":{\"error\":{\"reason\":" LINES "},\"threads\":[{\"backtrace\":{\"contents\":["
        "{\"instruction_addr\":4294967552}]}}]},\"binary_images\":["
        "{\"image_addr\":4294967296,\"image_size\":65536,\"name\":\"/App\"}]}",
        "{\"exception\":{\"values\":[{\"value\":" LINES ",\"stacktrace\":{\"frames\":["
        "{\"instruction_addr\":\"0x100000100\"}]}}]},\"debug_meta\":{\"images\":["
        "{\"type\":\"macho\",\"image_addr\":\"0x100000000\",\"image_size\":65536,\"code_file\":\"/App\"}]}}",
        "{\"exceptions\":[{\"message\":" LINES ",\"stacktrace\":[{\"isPC\":true,\"frameAddress\":\"0x100000100\","
        "\"machoLoadAddress\":\"0x100000000\",\"machoFile\":\"/App\"}]}]}",
        "{\"exception\":{\"message\":" LINES "},\"frames\":[{\"imageOffset\":256,\"imageIndex\":0}],"
        "\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"name\":\"App\"}]}",
    };
    static const char reason[] = "Exception Reason:\n  no item:\n    key = 1\n\n",
                      plain[] = "Exception Reason:\n  no item:\n  key = 1\n\n";
    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct output output = {.text = NULL}, again = {.text = NULL};
        struct usp_report *report = read_text(texts[i]);
        ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &output), USP_OK);
        ck_assert_msg(strncmp(output.text, reason, sizeof reason - 1) == 0, "text %zu: %s", i, output.text);
        usp_report_free(report);
        report = read_text(output.text);
        ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &again), USP_OK);
        ck_assert_msg(strncmp(again.text, plain, sizeof plain - 1) == 0, "text %zu: %s", i, again.text);
        usp_report_free(report);
        free(output.text);
        free(again.text);
    }
#undef LINES
}
END_TEST

/* ---- formats of JSON: what a report of each shows ---- */

/* The text's JSON, and parts of the report in the order in which it has them. */
struct shown {
    const char *in;
    const char *parts[8];
};

static void check_shown(const struct shown *shown) {
    struct output output = {.text = NULL};
    struct usp_report *report = read_text(shown->in);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &output), USP_OK);
    const char *at = output.text;
    for (size_t i = 0; i < ELEMENTS(shown->parts) && shown->parts[i] != NULL; i++) {
        const char *found = strstr(at, shown->parts[i]);
        ck_assert_msg(found != NULL, "\"%s\" is not, or not there, in:\n%s", shown->parts[i], output.text);
        at = found + strlen(shown->parts[i]);
    }
    free(output.text);
    usp_report_free(report);
}

#define KSCRASH_THREAD(crashed)                                                                                        \
    "\"threads\":[{\"index\":0,\"crashed\":" crashed                                                                   \
    ",\"backtrace\":{\"contents\":[{\"instruction_addr\":4294967568,\"object_addr\":4294967296,"                       \
    "\"object_name\":\"App\"}]}}]"

/* KSCrash 2.6, Example-Reports: Hang, WatchdogTimeout, NSException; a list of the exception's frames before the
 * threads. */
static const struct shown kscrash_reports[] = {
    {"{\"report\":{\"timestamp\":1765315753629383},\"crash\":{\"error\":{\"type\":\"hang\",\"hang\":{\"hang_start_"
     "nanos\":"
     "897133713870375,\"hang_end_nanos\":897141715985666},\"signal\":{\"signal\":0}}," KSCRASH_THREAD("true") "}}",
     {"Date/Time:           2025-12-09 21:29:13.629383 +0000\n", "Event:               hang\n",
      "Duration:            8.002 s\n\nThread 0 Crashed:\n"}},
    {"{\"report\":{\"timestamp\":951782400},\"crash\":{\"error\":{\"type\":\"mach\",\"mach\":{\"exception\":10,"
     "\"exception_name\":\"EXC_CRASH\",\"code\":9,\"code_name\":\"KERN_MEMORY_FAILURE\"},\"signal\":{\"signal\":9},"
     "\"exit_reason\":{\"code\":2343432205}}," KSCRASH_THREAD("true") "}}",
     {"Date/Time:           2000-02-29 00:00:00 +0000\n\n",
      "Exception Type:      EXC_CRASH (SIGKILL)\nTermination Reason:  Code 0x8badf00d (watchdog: "}},
    {"{\"crash\":{\"error\":{\"type\":\"nsexception\",\"nsexception\":{\"name\":\"NSRangeException\"},\"reason\":"
     "\"index 2\"},"
     "\"last_exception_backtrace\":{\"contents\":[{\"instruction_addr\":4294967552,\"object_addr\":4294967296,"
     "\"object_name\":\"App\"}]}," KSCRASH_THREAD("true") "}}",
     {"Exception Type:      NSRangeException\nException Reason:    index 2 (NSRangeException)\n\n",
      "Last Exception Backtrace:\n0   " APP "0x0000000100000100 f100 + 4",
      "Thread 0 Crashed:\n0   " APP "0x0000000100000110 "}},
    /* Two samples of three refer to frames; the third is empty. */
    {"{\"crash\":{\"error\":{\"type\":\"profile\",\"signal\":{\"signal\":6,\"name\":\"SIGABRT\"},\"profile\":{\"name\":"
     "\"startup\",\"duration\":262253917,\"frames\":[{\"instruction_addr\":4294967552,\"object_addr\":4294967296,"
     "\"object_name\":\"App\"},{\"instruction_addr\":4294967568,\"object_addr\":4294967296,\"object_name\":\"App\"}],"
     "\"samples\":[{\"frames\":[0,1]},{\"frames\":[1]},{\"frames\":[]},{\"frames\":[7]}]}}}}",
     {"Event:               profile\nDuration:            0.262 s\n\nThread 0 name:  startup\nThread 0:\nHeaviest "
      "stack:\n",
      "Call tree:\n  2    f110 + 4 (a.c:9) (in App) [0x100000110]\n    1    f100 + 4 (a.c:9) (in App) "
      "[0x100000100]\n\n"}},
};

START_TEST(kscrash) { check_shown(&kscrash_reports[_i]); }
END_TEST

/* The forms that Swift's Codable may give to a dictionary with UUIDs as keys. The frame has its offset alone. */
static const char *const binary_infos[] = {
    "{\"" UUID_A "\":{\"binaryName\":\"App\"}}",
    "{\"" UUID_A "\":\"App\"}",
    "[\"" UUID_A "\",{\"uuid\":\"" UUID_A "\",\"name\":\"App\"}]",
    "[\"" UUID_A "\",{\"binaryName\":\"App\"}]",
    "[[\"" UUID_A "\",{\"binaryName\":\"App\"}]]",
    "[{\"key\":\"" UUID_A "\",\"value\":{\"binaryName\":\"App\"}}]",
    "[{\"uuid\":\"" UUID_A "\",\"name\":\"App\"}]",
};

static void check_diagnostic(const char *before, const char *info, const char *after) {
    char in[2048];
    snprintf(
        in, sizeof in,
        "{\"environment\":{\"deviceType\":\"iPhone18,1\",\"osVersion\":\"27.0\",\"applicationVersion\":\"3.1\"},"
        "\"result\":{\"crash\":%s\"callStackTree\":{\"callStackThreads\":[{\"threadAttributed\":true,\"rootFrames\":[{"
        "\"binaryUUID\":\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":256,\"subFrames\":[]}]}],\"binaryInfo\":%s},"
        "\"signal\":11,\"exceptionType\":1,\"terminationCategory\":\"badAccess\"%s}}",
        before, info, after);
    const struct shown shown = {
        in,
        {"Version:             3.1\nHardware Model:      iPhone18,1\nOS Version:          27.0\n"
         "Event:               crash\n\n",
         "Exception Type:      EXC_BAD_ACCESS (SIGSEGV)\nTermination Reason:  badAccess\n", "Thread 0 Crashed:\n",
         "App ", "f100 + 4"}};
    check_shown(&shown);
}

START_TEST(diagnostic_report) {
    check_diagnostic("{\"_0\":{", binary_infos[_i], "}}");
    check_diagnostic("{", binary_infos[_i], "}");
}
END_TEST

static const struct shown json_reports[] = {
    /* Sentry: the signal, and the program. */
    {"{\"exception\":{\"values\":[{\"type\":\"EXC_BAD_ACCESS\",\"mechanism\":{\"meta\":{\"signal\":{\"name\":"
     "\"SIGSEGV\"}}},"
     "\"stacktrace\":{\"frames\":[{\"instruction_addr\":\"0x100000100\"}]}}]},\"contexts\":{\"app\":{\"app_"
     "identifier\":"
     "\"com.x\",\"app_version\":\"1.0\",\"app_build\":\"7\"}},\"debug_meta\":{\"images\":[]}}",
     {"Identifier:          com.x\nVersion:             1.0 (7)\n\nException Type:      EXC_BAD_ACCESS (SIGSEGV)\n"}},
    /* React Native: frames of JavaScript between native ones. Those of other objects are not frames. */
    {"{\"exception\":{\"values\":[{\"type\":\"E\",\"stacktrace\":{\"frames\":[{\"instruction_addr\":\"0x100000110\"},"
     "{\"function\":\"render\",\"filename\":\"app:///main.jsbundle\",\"lineno\":12,\"colno\":5},"
     "{\"function\":\"\"},{\"instruction_addr\":\"0x100000100\"}]}}]},\"calls\":{\"frames\":[{\"function\":\"no\"}]},"
     "\"debug_meta\":{\"images\":[{\"type\":\"macho\",\"debug_id\":\"" UUID_A
     "\",\"image_addr\":\"0x100000000\",\"image_size\":65536,\"code_file\":\"/x/App\"}]}}",
     {"\n0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n1   ???                           \t                   render "
      "(main.jsbundle:12)\n2   " APP "0x0000000100000110 f110 + 4 (a.c:9)\n\n"}},
    {"{\"events\":[{\"exceptions\":[{\"errorClass\":\"TypeError\",\"stacktrace\":[{\"method\":\"render\",\"file\":"
     "\"index.bundle\",\"lineNumber\":12,\"columnNumber\":5},{\"frameAddress\":\"0x100000110\",\"machoLoadAddress\":"
     "\"0x100000000\",\"machoFile\":\"/x/App\",\"machoUUID\":\"" UUID_A "\"}]}]}]}",
     {"\n0   ???                           \t                   render (index.bundle:12)\n1   " APP
      "0x0000000100000110 f110 + 4 (a.c:9)\n\n"}},
    /* bugsnag-cocoa: an event has the stack of its error, and its thread among the others. */
    {"{\"events\":[{\"exceptions\":[{\"errorClass\":\"NSRangeException\",\"message\":\"index 2\",\"stacktrace\":[{"
     "\"frameAddress\":\"0x100000100\",\"machoLoadAddress\":\"0x100000000\",\"machoFile\":\"/private/"
     "App\"}]}],\"app\":{"
     "\"id\":\"com.example\",\"version\":\"1.2\"},\"threads\":[{\"id\":\"7\",\"name\":\"worker\","
     "\"errorReportingThread\":"
     "true,\"stacktrace\":[{\"isPC\":true,\"frameAddress\":\"0x100000110\",\"machoLoadAddress\":\"0x100000000\","
     "\"machoFile\":\"/private/App\"}]}]}]}",
     {"Identifier:          com.example\nVersion:             1.2\n",
      "Exception Type:      NSRangeException\nException Reason:    index 2\n",
      "Exception Backtrace:\n0   " APP "0x0000000100000100 f100", "name:  worker\n",
      " Crashed:\n0   " APP "0x0000000100000110 f110"}},
    /* Datadog: stacks in strings, with the images beside them; an object with a stack is a thread. */
    {"{\"type\":\"error\",\"error\":{\"type\":\"SIGABRT (#6)\",\"message\":\"no queue\\nleft\",\"stack\":"
     "\"0   App   0x0000000100000100 0x100000000 + 256\",\"threads\":[{\"name\":\"Thread 0\",\"crashed\":false,"
     "\"stack\":\"0   App   0x0000000100000110 0x100000000 + 272\\n1   App   0x0000000100000120 0x100000000 + 288\"},"
     "{\"name\":\"worker\",\"crashed\":true,\"stack\":\"0   App   0x0000000100000130 0x100000000 + 304\"}],"
     "\"binary_images\":[{\"uuid\":\"" UUID_A "\",\"name\":\"App\",\"load_address\":\"0x100000000\","
     "\"max_address\":\"0x10000ffff\",\"arch\":\"arm64\"}],\"meta\":{\"process\":\"App [4]\"}}}",
     {"Process:             App [4]\n\nException Type:      SIGABRT (#6)\n\nException Reason:\n  no queue\n  left\n\n",
      "stack:\n0   " APP "0x0000000100000100 f100",
      "Thread 1 name:  worker\nThread 1 Crashed:\n0   " APP "0x0000000100000130",
      "Thread 0 name:  Thread 0\nThread 0:\n0   " APP "0x0000000100000110", "\n1   " APP "0x0000000100000120 f120",
      "0x100000000 - 0x10000ffff App arm64 <0123abcd456789abcdef0123456789ab> App\n"}},
    /* A stackshot: threads of several processes. */
    {"{\"processByPid\":{\"417\":{\"pid\":417,\"procname\":\"App\",\"threadById\":{\"7001\":{\"id\":7001,\"name\":"
     "\"worker\",\"kernelFrames\":[[1,256]],\"userFrames\":[[0,256],[0,272]]}}},\"1\":{\"pid\":1,\"procname\":"
     "\"launchd\",\"threadById\":{\"7002\":{\"id\":7002,\"userFrames\":[[0,288]]}}}},\"binaryImages\":[[\"" UUID_A
     "\",4294967296,\"P\"],[\"" UUID_B "\",8589934592,\"T\"]]}",
     {"Thread 7001 name:  App [417]: worker (kernel)\nThread 7001:\n0   ",
      "Thread 7001 name:  App [417]: worker\nThread 7001:\n0   ", "0x0000000100000110 ",
      "Thread 7002 name:  launchd [1]\nThread 7002:\n0   ", "0x0000000100000120 "}},
    /* Strings of an array, of a line each, are one stack; a string of several lines is a stack of its own. */
    {"{\"callStackSymbols\":[\"0   App                                 0x0000000100000101 0x100000000 + 257\",\"\","
     "\"1   App                                 0x0000000100000111 0x100000000 + 273\"],"
     "\"stacks\":[\"0   App   0x0000000100000120 0x100000000 + 288\\n1   App   0x0000000100000130 0x100000000 + 304\","
     "\"0   App   0x0000000100000140 0x100000000 + 320\\n1   App   0x0000000100000150 0x100000000 + 336\"]}",
     {"callStackSymbols:\n0   " APP "0x0000000100000101 ", "\n1   " APP "0x0000000100000111 ",
      "\n\nstacks:\n0   " APP "0x0000000100000120 ", "\n1   " APP "0x0000000100000130 ",
      "\n\nstacks:\n0   " APP "0x0000000100000140 ", "\n1   " APP "0x0000000100000150 "}},
    /* rust-minidump: the crashed thread is listed twice, and shown once. */
    {"{\"crash_info\":{\"type\":\"SIGSEGV\",\"crashing_thread\":1},\"crashing_thread\":{\"threads_index\":1,\"frames\":"
     "[{"
     "\"module\":\"App\",\"module_offset\":\"0x100\",\"offset\":\"0x100000100\"}]},\"modules\":[{\"base_addr\":"
     "\"0x100000000\","
     "\"end_addr\":\"0x100010000\",\"filename\":\"App\"}],\"threads\":[{\"thread_id\":5,\"frames\":[{\"module\":"
     "\"App\","
     "\"module_offset\":\"0x110\",\"offset\":\"0x100000110\"}]},{\"thread_id\":6,\"thread_name\":\"x\",\"frames\":[{"
     "\"module\":"
     "\"App\",\"module_offset\":\"0x100\",\"offset\":\"0x100000100\"}]}]}",
     {"Exception Type:      SIGSEGV\nTriggered by Thread: 1\n\nThread 1 name:  x\nThread 1 Crashed:\n0   " APP
      "0x0000000100000100 f100",
      "\n\nThread 0:\n0   " APP "0x0000000100000110 f110", "\n\nBinary Images:\n0x100000000 - 0x10000ffff App"}},
    /* log(1): the event has the path of the image. */
    {"[{\"traceID\":1,\"threadID\":77,\"eventMessage\":\"no queue\",\"backtrace\":{\"frames\":[{\"imageOffset\":256,"
     "\"imageUUID\":\"" UUID_A "\"}]},\"processID\":42,\"senderImageUUID\":\"" UUID_A
     "\",\"senderImagePath\":\"/x/App\"},"
     "{\"traceID\":2,\"eventMessage\":\"second\",\"backtrace\":{\"frames\":[{\"imageOffset\":272,\"imageUUID\":"
     "\"" UUID_A "\"}]},\"senderImageUUID\":\"" UUID_A "\",\"senderImagePath\":\"/x/App\"}]",
     {"PID:                 42\n\nApplication Specific Information:\n  no queue\n\n", "f100 + 4", "----\n\n", "second",
      "f110 + 4"}},
    /* App Store Connect, "Download logs for a diagnostic signature": no offsets where addresses have names. */
    {"{\"productData\":[{\"signatureId\":\"0\",\"diagnosticLogs\":[{\"diagnosticMetaData\":{\"event\":\"disk writes\","
     "\"writesCaused\":\"1073.76 MB\"},\"callStackTree\":[{\"callStacks\":[{\"callStackRootFrames\":[{"
     "\"offsetIntoBinaryTextSegment\":\"\",\"offsetIntoSymbol\":\"32\",\"symbolName\":\"save\",\"address\":"
     "\"0x100000084\",\"binaryUUID\":\"" UUID_A "\",\"binaryName\":\"App\",\"lineNumber\":\"1466\",\"sampleCount\":51,"
     "\"fileName\":\"init.c\",\"subFrames\":[{\"offsetIntoBinaryTextSegment\":\"\",\"offsetIntoSymbol\":\"112\","
     "\"symbolName\":\"write\",\"address\":\"0x180000078\",\"binaryUUID\":\"" UUID_B "\",\"binaryName\":"
     "\"libz.dylib\",\"sampleCount\":51,\"subFrames\":[]}]}]}]}]}]}]}",
     {"Event:               disk writes\n", "Heaviest stack:\n  51   save + 32 (init.c:1466) (in App) [0x100000084]\n",
      "  51   write + 112 (in libz.dylib) [0x180000078]\nCall tree:\n"}},
};

/* Lines of which a public report showed that threads were not found. */
static const struct shown line_reports[] = {
    /* rust-minidump: the thread's name and id are in its heading. */
    {"Operating system: Mac OS X\n\nThread 0 main (crashed) - tid: 4611\n 0  App!draw [view.m : 14 + 0x4]\n\n"
     "Thread 1  - tid: 5379\n 0  0xf00800 (unloaded many.dll@0x460) (unloaded solo.dll@0x5e0)\n\n"
     "Thread 2 io worker - tid: 77\n 0  App + 0x100\n\nLoaded modules:\n",
     {"Thread 0 name:  main\nThread 0 Crashed:\n0   " APP, "draw (view.m:14)\n\nThread 1:\n0   ???",
      "0x0000000000f00800 ???\n", "Thread 2 name:  io worker\nThread 2:\n0   " APP}},
    /* Abseil, as Ray writes it: the second stack is not a part of the first. */
    {"*** SIGSEGV received at time=1709021359 on cpu 44 ***\nPC: @     0x7f3c5f628350  (unknown)  (unknown)\n"
     "[2024-02-27 16:09:19,106 E 19394 19394] logging.cc:361: *** SIGABRT received at time=1709021359 on cpu 4 ***\n"
     "[2024-02-27 16:09:19,108 E 19394 19394] logging.cc:361: PC: @     0x7f3c5f628351  (unknown)  (unknown)\n",
     {"SIGSEGV received at time=1709021359 on cpu 44:\n0   ???", "0x00007f3c5f628350 ???\n\n",
      "SIGABRT received at time=1709021359 on cpu 4:\n0   ???", "0x00007f3c5f628351 ???\n"}},
    /* A log of GitHub: the headings are found below the times. */
    {"2026-01-02T03:04:05.1234567Z WARNING: ThreadSanitizer: data race (pid=7)\n"
     "2026-01-02T03:04:05.1234567Z   Write of size 1 at 0x0001064012b1 by thread T8:\n"
     "2026-01-02T03:04:05.1234567Z     #0 draw app.cpp:1675 (App:arm64+0x100000100)\n"
     "2026-01-02T03:04:05.1234567Z     #1 A.f(() -> ()) async -> A <null> (App:arm64+0x100000110)\n"
     "2026-01-02T03:04:05.1234567Z   Location is heap block of size 152 allocated by main thread:\n"
     "2026-01-02T03:04:05.1234567Z     #0 <null> <null> (App:arm64+0x100000110)\n",
     {"Exception Type:      ThreadSanitizer: data race (pid=7)\n\nWrite of size 1 at 0x0001064012b1 by thread T8:\n0  "
      " ",
      "draw (app.cpp:1675)\n1   ",
      "A.f(() -> ()) async -> A\n\nLocation is heap block of size 152 allocated by main thread:\n0   "}},
    /* Sentry: the name of a thread is in its heading, and a name may have no offset. */
    {"Thread 0 name: main Crashed:\n"
     "0   libsystem_kernel.dylib          0x39fe95fbc         __pthread_kill\n"
     "1   MyApp                           0x20499ce8c         [inlined] check\n"
     "2   MyApp                           0x20499ce8c         send (runtime.m:1461)\n\nThread 7 name: worker\n"
     "0   libsystem_kernel.dylib          0x39fe95fbc         mach_msg2_trap\n",
     {"Thread 0 name:  main\nThread 0 Crashed:\n0   libsystem_kernel.dylib",
      "0x000000039fe95fbc __pthread_kill\n1   MyApp", "0x000000020499ce8c check [inlined]\n1   MyApp",
      "Thread 7 name:  worker\nThread 7:\n0   libsystem_kernel.dylib"}},
    /* A console: the exception is above the stack, the line of libc++abi below it says it once more. */
    {"2026-01-02 03:04:05.678 App[4711:12] *** Terminating app due to uncaught exception 'NSRangeException', reason: "
     "'index 3 of 'q' is beyond bounds'\n*** First throw call stack:\n(0x100000101 0x100000111)\n"
     "libc++abi: terminating due to uncaught exception of type NSException\n" IMAGES,
     {"Exception Type:      NSRangeException\nException Reason:    index 3 of 'q' is beyond bounds\n\n"
      "*** First throw call stack:\n0   App",
      "f101 + 4 (a.c:9)\n1   App"}},
    /* React Native: a name with quotes, a reason of several lines. The second exception is another report. */
    {"*** Terminating app due to uncaught exception 'RCTFatalException: no 'a'', reason: 'no 'a', stack:\nf@1:2\n'\n"
     "*** First throw call stack:\n(0x100000101 0x100000111)\n"
     "*** Terminating app due to uncaught exception of class 'Fault'\n*** First throw call stack:\n(\n"
     "\t0   App                                 0x0000000100000101 App + 257\n)\n" IMAGES,
     {"Exception Type:      RCTFatalException: no 'a'\n\nException Reason:\n  no 'a', stack:\n  f@1:2\n\n*** First "
      "throw",
      "\n----\n\nException Type:      Fault\n\n*** First throw call stack:\n0   App"}},
    {"libc++abi: terminating due to uncaught exception of type std::runtime_error: no queue\n"
     "0   App                                 0x0000000100000101 App + 257\n" IMAGES,
     {"Exception Type:      std::runtime_error\nException Reason:    no queue\n\n"}},
    /* A report that follows a log has its own exception. In a field's text such a line is text. */
    {"*** Terminating app due to uncaught exception 'A', reason: 'one'\n*** First throw call stack:\n"
     "(0x100000101 0x100000111)\n\nException Type:  EXC_CRASH (SIGABRT)\n\nApplication Specific Information:\n"
     "*** Terminating app due to uncaught exception 'B', reason: 'two'\n\nThread 0 Crashed:\n"
     "0   App  0x0000000100000100 App + 256\n" IMAGES,
     {"Exception Type:      A\nException Reason:    one\n\n*** First throw call stack:\n0   App",
      "----\n\nException Type:      EXC_CRASH (SIGABRT)\n\nApplication Specific Information:\n"
      "  *** Terminating app due to uncaught exception 'B', reason: 'two'\n\nThread 0 Crashed:\n"}},
    /* libstdc++ and gdb: the signal is the type, the exception its reason. */
    {"terminate called after throwing an instance of 'std::runtime_error'\n  what():  no queue\n\n"
     "Program received signal SIGABRT, Aborted.\n#0  0x0000000100000100 in ?? () from /App\n",
     {"Exception Type:      SIGABRT, Aborted.\nException Reason:    no queue (std::runtime_error)\n\n"}},
    {"Uncaught Kotlin exception: kotlin.IllegalStateException: no queue\n"
     "    at 0   App                          0x100000101        kfun:app.Queue#take(){} + 105 \n"
     "Caused by: kotlin.RuntimeException: closed\n"
     "    at 0   App                          0x100000111        kfun:app.Queue#put(){} + 105 \n",
     {"Exception Type:      kotlin.IllegalStateException\nException Reason:    no queue\n\n"
      "Uncaught Kotlin exception: kotlin.IllegalStateException: no queue:\n0   App",
      "Queue#take(){} + 105\n\nCaused by: kotlin.RuntimeException: closed:\n0   App", "Queue#put(){} + 105\n"}},
    {"Uncaught Kotlin exception: kotlin.native.internal.IrLinkageError: \nFunction 'draw' can not be called\n"
     "    at 0   App                          0x100000101        kfun:app.Queue#take(){} + 105 \n",
     {"Exception Type:      kotlin.native.internal.IrLinkageError\nException Reason:    Function 'draw' can not be "
      "called\n\n"}},
    /* .NET's exception that has an exception of Objective-C. */
    {"Objective-C exception thrown.  Name: NSRangeException Reason: index 3\nNative stack trace:\n"
     "\t0   App                                 0x0000000100000101 App + 257\n" IMAGES,
     {"Exception Type:      NSRangeException\nException Reason:    index 3\n\n"}},
    {"2026-01-02 03:04:05.678 App[4711:12] App/Queue.swift:12: Fatal error: Index out of range\n"
     "0   App                                 0x0000000100000101 App + 257\n" IMAGES,
     {"Exception Reason:    App/Queue.swift:12: Fatal error: Index out of range\n\n"}},
    /* Crashlytics: the reason, or the signal, is between the heading and the frames. */
    {"Fatal Exception: NSInvalidArgumentException\n*** -[Queue put:]: nil\n"
     "0  App                            0x100 (Missing UUID " UUID_A ")\n",
     {"Exception Type:      NSInvalidArgumentException\nException Reason:    *** -[Queue put:]: nil\n\n"
      "Fatal Exception: NSInvalidArgumentException:\n0   App"}},
    {"Crashed: com.apple.main-thread\nEXC_BAD_ACCESS KERN_INVALID_ADDRESS 0x0000000000000010\n"
     "0  App                            0x100 (Missing UUID " UUID_A ")\n",
     {"Exception Type:      EXC_BAD_ACCESS KERN_INVALID_ADDRESS 0x0000000000000010\n\n"
      "Thread name:  com.apple.main-thread\nThread Crashed:\n0   App"}},
    /* Crashlytics' numbers before names are offsets. Where the source line is known, it is written as the offset of the
     * name, too. Threads that did not crash have their name alone above them. A copy is indented, another one has lost
     * the columns. */
    {"  Crashed: com.apple.main-thread\n"
     "  0  App                            0x100 -[View draw] + 12\n"
     "  1  App                            0x210 -[View tick:] + 636 (view.m:636)\n"
     "  10 App                            0x220 main (main.m:20)\n"
     "  11 App                            0x104e60104 start + 4\n\n"
     "  com.app.queue: writer (QOS: UTILITY)\n"
     "  0  libz.dylib                     0x300 <redacted> + 160\n\n"
     "Thread #3: reader\n"
     "0  libz.dylib 0x310 inflate + 8\n1 App 0x320 type metadata accessor for App + 4337149088\n",
     {"Thread name:  com.apple.main-thread\nThread Crashed:\n0   " APP "+0x100             -[View draw] + 12\n1   " APP
      "+0x210             -[View tick:] (view.m:636)\n2   " APP "+0x220             main (main.m:20)\n3   " APP
      "0x0000000104e60104 start + 4\n\n",
      "Thread name:  com.app.queue: writer (QOS: UTILITY)\nThread:\n0   libz.dylib ",
      "Thread name:  Thread #3: reader\nThread:\n0   libz.dylib                    \t+0x310             inflate + 8\n1 "
      "  " APP "+0x320             type metadata accessor for App\n"}},
    /* Unity on Windows: source lines before and after names; code of the just-in-time compiler is in no image. */
    {"0x00007FF6B83D1AB4 (Unity) (function-name not available)\n"
     "0x000000001F68CACC (Mono JIT Code) [C:\\App\\Queue.cs:35] App.Queue:Take () \n"
     "0x00007FFF1E6D4C1E (mono-2.0-bdwgc) mono_runtime_invoke (at C:/mono/object.c:3115)\n",
     {"0   Unity                         \t0x00007ff6b83d1ab4 ???\n1   ???                           \t"
      "0x000000001f68cacc App.Queue:Take () (C:\\App\\Queue.cs:35)\n2   mono-2.0-bdwgc                \t"
      "0x00007fff1e6d4c1e mono_runtime_invoke (object.c:3115)\n"}},
    /* Mail and pages: what is above the frames is quoted, too. */
    {"> > Exception Type:  EXC_CRASH (SIGABRT)\n> > Thread 3 Crashed:\n> > 0   App  0x0000000100000100 App + 256\n",
     {"Exception Type:      EXC_CRASH (SIGABRT)\n\nThread 3 Crashed:\n0   " APP}},
    {"<pre><code>Thread 3 Crashed:\n0   App  0x0000000100000100 App + 256\n</code></pre>\n",
     {"Thread 3 Crashed:\n0   " APP}},
    /* "CPU:" is not a time, as in Apple's reports of resources. */
    {"CPU: arm64\n     8 CPUs\n\nThread 0 (crashed)\n 0  App + 0x100\n", {"Code Type:           arm64\n\nThread 0"}},
    {"*** SIGSEGV (@0x0) received by PID 1; stack trace: ***\n    @  0x100000100 (unknown)\n",
     {"SIGSEGV (@0x0) received by PID 1; stack trace:\n0   "}},
    /* The columns of Apple's reports are wider, and short addresses have zeros before them. */
    {"Thread 0 Crashed:\n0   App  0x00003100 main + 12\n", {"0   " APP "0x0000000000003100 main + 12\n"}},
    /* lldb: functions without a name, the thread's stop reason; its list of images does not state where they end. */
    {"* thread #1, queue = 'q', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)\n  * frame #0: 0x0000000100000100 "
     "App\n"
     "-> frame #1: 0x0000000100000200 App`draw + 10\n  thread #2, stop reason = breakpoint 1.1\n"
     "(lldb) image list\n[  0] " UUID_A " 0x0000000100000000 /App\n",
     {"Exception Type:      EXC_BAD_ACCESS (code=1, address=0x0)\n\n"
      "Thread 1 name:  Dispatch queue: q\nThread 1 Crashed:\n0   App",
      "f100 + 4 (a.c:9)\n1   App", "draw + 10\n", "0x100000000 - ??? App <"}},
    {"* thread #1, stop reason = signal SIGABRT\n  * frame #0: 0x0000000100000100 App`draw + 10\n",
     {"Exception Type:      SIGABRT\n\n"}},
    /* Instabug's list does not state it either. */
    {"Thread 0 Crashed:\n0   App    0x100000100 0x100000000\n\n0x100000000     App    arm64     " UUID_A "\n",
     {"0x0000000100000100 f100 + 4 (a.c:9)\n", "0x100000000 - ??? App arm64 <"}},
    /* A watchdog's termination: its explanation has lines of its own. */
    {"Exception Type:  EXC_CRASH (SIGKILL)\nTermination Signal: Killed: 9\n"
     "Termination Reason: FRONTBOARD 2343432205 \n"
     "<RBSTerminateContext| domain:10 code:0x8BADF00D explanation:scene-create watchdog transgression\n"
     "ProcessVisibility: Unknown>\nHighlighted by Thread:  0\n\nVM Region Info: 0x10 is not in any region.\n"
     "      REGION TYPE    START - END\n\nDyld Error Message:\n  Library not loaded\n\nThread 0:\n"
     "0   App  0x0000000100000100 App + 256\n" IMAGES,
     {"Termination Reason:  Killed: 9 FRONTBOARD 2343432205 <RBSTerminateContext| domain:10 code:0x8BADF00D "
      "explanation:scene-create "
      "watchdog transgression ProcessVisibility: Unknown>\n",
      "VM Region Info:      0x10 is not in any region.\nTriggered by Thread: 0\n\n",
      "Application Specific Information:\n  Library not loaded\n\nThread 0"}},
    /* Kernel triage, and what went wrong when the report was made. */
    {"Exception Type:  EXC_CRASH (SIGABRT)\nException Note:  EXC_CORPSE_NOTIFY\n\n"
     "Application Specific Information:\nabort() called\n\nError Formulating Crash Report:\nno snapshot\n\n"
     "Kernel Triage:\nVM - shortage one\nVM - shortage two\n\n\nThread 0 Crashed:\n"
     "0   App  0x0000000100000100 App + 256\n" IMAGES,
     {"Exception Type:      EXC_CRASH (SIGABRT)\nException Note:      EXC_CORPSE_NOTIFY\n\n",
      "Application Specific Information:\n  abort() called\n  no snapshot\n\n"
      "Kernel Triage:\n  VM - shortage one\n  VM - shortage two\n\nThread 0 Crashed:\n0   App"}},
    /* Entities of HTML, with names and numbers, in names, reasons and images. Other numbers stay. */
    {"Exception Type:  EXC_CRASH (SIGABRT)\nException Reason: &#39;a&apos; &lt; &#x27;b&#X27; &amp;&#38; &quot;c&#34; "
     "&#960;\n\n"
     "Thread 0 Crashed:\n0   App  0x0000000100000100 Box&lt;int&#62;::put(T&amp;) + 12\n"
     "1   &lt;translation info unavailable&gt;   0x300000000 ???\n"
     "0x200000000 - 0x20000ffff App arm64 &#60;" UUID_A "&#x3e; /App\n",
     {"Exception Reason:    'a' < 'b' && \"c\" &#960;\n", "0x0000000100000100 Box<int>::put(T&) + 12\n1   ",
      "0x0000000300000000 ???\n", "0x200000000 - 0x20000ffff App arm64 <"}},
    /* spindump: code that is in no image has a place in the tree. */
    {"  Thread 0x3316    2 samples (1-2)\n  2  main + 40 (App + 400) [0x100000190]\n    2  ??? [0x4800047383]\n"
     "      1  ??? [0x48000475fb]\n",
     {"    2    ??? [0x4800047383]\n      1    ??? [0x48000475fb]\n"}},
    /* lldb: registers and `thread info` have addresses with names, but are not frames. */
    {"* thread #1, queue = 'q', stop reason = signal SIGABRT\n  * frame #0: 0x0000000100000100 App`draw + 10\n"
     "(lldb) register read\n       rip = 0x0000000100000100  App`draw + 10\n(lldb) thread info\n"
     "thread #1: tid = 0x81b0d, 0x0000000100000100 App`draw + 10, queue = 'q'\n",
     {"Thread 1 Crashed:\n0   " APP "0x0000000100000100 draw + 10\n\n"}},
};

/* The text is cut off inside the third frame, after an image; a number at the end may be a part of one. Nothing of the
 * other texts is whole. The end of a line after it, as files and copies have it, changes nothing. */
START_TEST(cut_json) {
    static const char whole[] =
        "{\"usedImages\":[{\"base\":4294967296,\"size\":65536,\"name\":\"App\",\"uuid\":\"" UUID_A
        "\"}],\"threads\":[{\"triggered\":true,\"frames\":[{\"imageOffset\":256,\"imageIndex\":0},{\"imageOffset\":272,"
        "\"imageIndex\":0},{\"imageOffset\":288,\"imageIndex\":0";
    struct usp_reader_options options;
    usp_reader_options_init(&options);
    options.find = name_app;
    for (size_t n = 2; n < 2 * sizeof whole; n++) {
        const size_t length = n / 2;
        char text[sizeof whole];
        struct usp_report *report = NULL;
        struct usp_reader_counts counts;
        char error[128];
        memcpy(text, whole, length);
        text[length] = '\n';
        const int status = usp_report_create(&options, text, length + n % 2, &report, error, sizeof error);
        size_t frames = 0;
        for (size_t i = 0; i < length; i++) frames += whole[i] == '}' && i > 20 && memcmp(whole + i - 1, "0}", 2) == 0;
        /* The first bytes are not recognized as JSON of a report. */
        ck_assert_int_eq(strstr(error, "the JSON is cut off") == NULL, status == USP_ERROR_NOT_FOUND);
        ck_assert_int_eq(status == USP_OK, frames > 0);
        ck_assert(length < 20 || status != USP_ERROR_NOT_FOUND);
        if (status != USP_OK) continue;
        ck_assert_int_eq(usp_report_get_counts(report, &counts), USP_OK);
        ck_assert_uint_eq(counts.frames, frames);
        ck_assert_uint_eq(counts.answered, frames);
        usp_report_free(report);
    }
}
END_TEST

/* A recording of Instruments: lists share addresses, and the last 0 is the end of a stack. */
START_TEST(recording) {
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<trace-query-result><node><schema name=\"time-profile\"/>\n"
        "<row><thread id=\"1\" fmt=\"Main &#60;1&#x3E;\"><tid id=\"2\">7178</tid></thread><backtrace id=\"3\"><process "
        "ref=\"9\"/>"
        "<text-addresses id=\"4\" fmt=\"frag 1\">4294967552 4294967809</text-addresses><text-addresses id=\"5\">"
        "4294968065 0</text-addresses></backtrace></row>\n"
        "<row><thread ref=\"1\"/><backtrace id=\"6\"><text-addresses id=\"7\">4294968320</text-addresses>"
        "<text-addresses ref=\"5\"/></backtrace></row>\n<row><thread ref=\"1\"/><backtrace ref=\"6\"/></row>\n"
        "</node></trace-query-result>";
    check_report(text,
                 "Thread 7178 name:  Main <1>\n"
                 "Thread 7178:\n"
                 "Heaviest stack:\n"
                 "  3    ??? [0x100000300]\n"
                 "  2    ??? [0x100000400]\n"
                 "Call tree:\n"
                 "  3    ??? [0x100000300]\n"
                 "    1    ??? [0x100000200]\n"
                 "      1    ??? [0x100000100]\n"
                 "    2    ??? [0x100000400]\n\n",
                 USP_REPORT_TEXT);
    /* The innermost frame is behind the others, and both have it if there is no other. One has none. The thread has no
     * name. */
    check_report(
        "<?xml version=\"1.0\"?>\n<trace-query-result><node><schema name=\"time-sample\"/>\n"
        "<row><thread id=\"1\"><tid id=\"11\">7178</tid></thread><kperf-bt id=\"2\"><text-addresses "
        "id=\"3\">4294967809 4294968065 0"
        "</text-addresses><text-address id=\"4\">4294967552</text-address><process ref=\"9\"/></kperf-bt></row>\n"
        "<row><thread ref=\"1\"/><kperf-bt id=\"5\"><text-addresses ref=\"3\"/><text-address ref=\"4\"/></kperf-bt>"
        "</row>\n<row><thread ref=\"1\"/><kperf-bt ref=\"5\"/></row>\n"
        "<row><thread ref=\"1\"/><kperf-bt id=\"6\"><text-addresses id=\"7\">4294968320 0</text-addresses>"
        "<text-address id=\"8\">4294968320</text-address></kperf-bt></row>\n"
        "<row><thread ref=\"1\"/><kperf-bt id=\"9\"><text-addresses id=\"10\">4294968576</text-addresses>"
        "</kperf-bt></row>\n</node></trace-query-result>",
        "Thread 7178:\n"
        "Heaviest stack:\n"
        "  3    ??? [0x100000300]\n"
        "  3    ??? [0x100000200]\n"
        "  3    ??? [0x100000100]\n"
        "Call tree:\n"
        "  3    ??? [0x100000300]\n"
        "    3    ??? [0x100000200]\n"
        "      3    ??? [0x100000100]\n"
        "  1    ??? [0x100000400]\n"
        "  1    ??? [0x100000500]\n\n",
        USP_REPORT_TEXT);
    struct usp_report *report = NULL;
    for (size_t i = 0; i < 30; i += 29) {
        struct pieces pieces = {.rest = text, .fails_after = i};
        ck_assert_int_eq(usp_report_read(NULL, read_piece, &pieces, &report, NULL, 0), USP_ERROR_SYSTEM);
        ck_assert_ptr_null(report);
    }
    ck_assert_int_eq(usp_report_read(NULL, NULL, NULL, &report, NULL, 0), USP_ERROR_ARGUMENT);
}
END_TEST

/* Apple, "Identifying high-memory use with jetsam event reports". */
START_TEST(jetsam) {
    check_report(
        "{\"bug_type\":\"298\",\"os_version\":\"iPhone OS 17.5.1\"}\n{\"product\":\"iPhone14,2\",\"memoryStatus\":{"
        "\"pageSize\":16384},\"largestProcess\":\"App\",\"processes\":[{\"name\":\"mediad\",\"pid\":88,\"rpages\":640,"
        "\"states\":[\"daemon\",\"idle\"]},{\"name\":\"App\",\"pid\":4711,\"rpages\":140000,\"lifetimeMax\":140001,"
        "\"reason\":\"per-process-limit\",\"states\":[\"frontmost\"]}]}\n",
        "Largest process:     App\n"
        "Hardware Model:      iPhone14,2\n"
        "OS Version:          iPhone OS 17.5.1\n"
        "Event:               memory was low (jetsam)\n"
        "\n"
        "Killed:\n"
        "140000 pages (2187 MB)  App [4711] (frontmost), at most 140001 pages, killed: per-process-limit\n"
        "\n"
        "Other processes:\n"
        "640 pages (10 MB)  mediad [88] (daemon, idle)\n"
        "\n",
        USP_REPORT_TEXT);
}
END_TEST

START_TEST(other_json) { check_shown(&json_reports[_i]); }
END_TEST

START_TEST(other_lines) { check_shown(&line_reports[_i]); }
END_TEST

/* Apple, MXDiskWriteExceptionDiagnostic (MetricKit's header) and MXAppLaunchDiagnostic. */
START_TEST(metrickit_events) {
#define TREE                                                                                                           \
    "\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[{\"offsetIntoBinaryTextSegment\":256,"               \
    "\"binaryName\":\"App\",\"address\":4294967552}]}]}"
#define STACK                                                                                                          \
    "\n"                                                                                                               \
    "Thread 0:\n"                                                                                                      \
    "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"                                                                 \
    "\n"                                                                                                               \
    "Binary Images:\n"                                                                                                 \
    "0x100000000 - ??? App\n"                                                                                          \
    "\n"
    check_report("{\"diskWriteExceptionDiagnostics\":[{\"diagnosticMetaData\":{\"writesCaused\":\"2000 byte\"}," TREE
                 "}],\"appLaunchDiagnostics\":[{\"diagnosticMetaData\":{\"launchDuration\":\"2 sec\"}," TREE "}]}",
                 "Event:               2000 byte\n" STACK "----\n\n"
                 "Event:               app launch\n"
                 "Duration:            2 sec\n" STACK,
                 USP_REPORT_TEXT);
#undef TREE
#undef STACK
}
END_TEST

#define FRAME_IN(binary, address, offset, samples)                                                                     \
    "{\"binaryName\":\"" binary "\",\"address\":" #address ",\"offsetIntoBinaryTextSegment\":" #offset                 \
    ",\"sampleCount\":" #samples
#define HANG(frames)                                                                                                   \
    "{\"hangDiagnostics\":[{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[" frames "]}]}}]}"

/* Trees of samples may have the innermost frame as their root. The offset of a call is one byte less than its return
 * address, which reveals the order in the first text. In the second text, dyld at the end reveals it. The third text
 * has several frames below one and stays a tree. */
START_TEST(metrickit_orders) {
    check_report(HANG(FRAME_IN("App", 4294967312, 16, 3) ",\"subFrames\":[" FRAME_IN(
                     "App", 4294967328, 31, 3) ",\"subFrames\":[" FRAME_IN("App", 4294967344, 47, 3) "}]}]}"),
                 "Event:               hang\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "1   " APP "0x0000000100000020 inner [inlined] (b.c:3)\n"
                 "1   " APP "0x0000000100000020 f20 + 4 (a.c:9)\n"
                 "2   " APP "0x0000000100000030 f30 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
    check_report(HANG(FRAME_IN("App", 4294967312, 16, 3) ",\"subFrames\":[" FRAME_IN("dyld", 8589934848, 256, 3) "}]}"),
                 "Event:               hang\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000010 f10 + 4 (a.c:9)\n"
                 "1   dyld                          \t0x0000000200000100 0x200000000 + 256\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "0x200000000 - ??? dyld\n"
                 "\n",
                 USP_REPORT_TEXT);
    check_report(HANG(FRAME_IN("dyld", 8589934848, 255, 3) ",\"subFrames\":[" FRAME_IN("App", 4294967312, 16, 3) "}]}"),
                 "Event:               hang\n"
                 "\n"
                 "Thread 0:\n"
                 "Heaviest stack:\n"
                 "  3    0x200000000 + 256 (in dyld) [0x200000100]\n"
                 "  3    f10 + 4 (a.c:9) (in App) [0x100000010]\n"
                 "Call tree:\n"
                 "  3    0x200000000 + 256 (in dyld) [0x200000100]\n"
                 "    3    f10 + 4 (a.c:9) (in App) [0x100000010]\n"
                 "\n"
                 "Binary Images:\n"
                 "0x200000000 - ??? dyld\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
    check_report(HANG(FRAME_IN("App", 4294967312, 16, 3) ",\"subFrames\":[" FRAME_IN(
                     "App", 4294967344, 47, 2) "}," FRAME_IN("App", 4294967360, 63, 1) "}]}"),
                 "Event:               hang\n"
                 "\n"
                 "Thread 0 name:  callers stand below what they call\n"
                 "Thread 0:\n"
                 "Heaviest stack:\n"
                 "  3    f10 + 4 (a.c:9) (in App) [0x100000010]\n"
                 "  2    f30 + 4 (a.c:9) (in App) [0x100000030]\n"
                 "Call tree:\n"
                 "  3    f10 + 4 (a.c:9) (in App) [0x100000010]\n"
                 "    2    f30 + 4 (a.c:9) (in App) [0x100000030]\n"
                 "    1    f40 + 4 (a.c:9) (in App) [0x100000040]\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* A frame that is in no array begins a thread, too. Without one, it was written before the array of threads, or into
 * the thread of the preceding report. */
START_TEST(frame_in_no_array) {
#define ROOT(frame) "{\"callStackRootFrames\":" frame "}}\n"
#define TREE_OF(line)                                                                                                  \
    "Thread 0:\n"                                                                                                      \
    "Heaviest stack:\n" line "Call tree:\n" line "\n"                                                                  \
    "Binary Images:\n"                                                                                                 \
    "0x100000000 - ??? App\n"                                                                                          \
    "\n"
    check_report(ROOT(FRAME_IN("App", 4294967312, 16, 3)) ROOT(FRAME_IN("App", 4294967328, 32, 5)),
                 TREE_OF("  3    f10 + 4 (a.c:9) (in App) [0x100000010]\n") "----\n\n" TREE_OF(
                     "  5    f20 + 4 (a.c:9) (in App) [0x100000020]\n"),
                 USP_REPORT_TEXT);
#undef ROOT
#undef TREE_OF
}
END_TEST

/* Collects whether the places are exact: first a root, then the frame below it. */
static int tell_exact(void *context, const struct usp_place *place, struct usp_answer *answer) {
    unsigned *exact = context;
    (void)answer;
    *exact = *exact << 1 | ((place->flags & USP_PLACE_EXACT) != 0);
    return USP_OK;
}

START_TEST(metrickit_exact) {
    static const struct {
        const char *text;
        unsigned exact;
    } texts[] = {
        {HANG(FRAME_IN("App", 4294967312, 16, 3) ",\"subFrames\":[" FRAME_IN("App", 4294967328, 31, 3) "}]}"), 2},
        {HANG(FRAME_IN("App", 4294967312, 15, 3) ",\"subFrames\":[" FRAME_IN("App", 4294967328, 32, 3) "}]}"), 1},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct usp_reader_options options;
        struct usp_report *report;
        unsigned exact = 0;
        usp_reader_options_init(&options);
        options.find = tell_exact;
        options.context = &exact;
        ck_assert_int_eq(usp_report_create(&options, texts[i].text, strlen(texts[i].text), &report, NULL, 0), USP_OK);
        ck_assert_uint_eq(exact, texts[i].exact);
        usp_report_free(report);
    }
}
END_TEST

/* Frames in a text without a root: the list of subframes stands alone. */
START_TEST(without_a_root) {
    check_report("{\"subFrames\":[{\"binaryUUID\":\"" UUID_A
                 "\",\"offsetIntoBinaryTextSegment\":256,\"binaryName\":\"App\",\"address\":4294967552,"
                 "\"sampleCount\":2}]}",
                 "Thread 0:\n"
                 "Heaviest stack:\n"
                 "  2    f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "Call tree:\n"
                 "  2    f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App <0123abcd456789abcdef0123456789ab>\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* ---- samples ---- */

/* The format of reports in public issues (tests/support/report_texts.h); owncloud/client 5613 has
 * "Thread_<multiple>". */
START_TEST(trees) {
    check_report("Call graph:\n"
                 "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)\n"
                 "    + 2797 start  (in dyld) + 3457  [0x7ff808443781]\n"
                 "    +   797 ???  (in App)  load address 0x100000000 + 0x100  [0x100000100]\n"
                 "    +   2000 ???  (in App)  load address 0x100000000 + 0x200  [0x100000200]\n"
                 "    4 Thread_<multiple>   DispatchQueue_14: com.example.queue  (serial)\n"
                 "    + 4 ???  (in App)  load address 0x100000000 + 0x300  [0x100000300]\n"
                 "\nTotal number in stack (recursive counted multiple, when >=5):\n\n",
                 "Thread 1382747 name:  Dispatch queue: com.apple.main-thread\n"
                 "Thread 1382747:\n"
                 "Heaviest stack:\n"
                 "  2797 start + 3457 (in dyld) [0x7ff808443781]\n"
                 "  2000 f200 + 4 (a.c:9) (in App) [0x100000200]\n"
                 "Call tree:\n"
                 "  2797 start + 3457 (in dyld) [0x7ff808443781]\n"
                 "    797  f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "    2000 f200 + 4 (a.c:9) (in App) [0x100000200]\n"
                 "\n"
                 "Stack name:  Dispatch queue: com.example.queue\n"
                 "Stack:\n"
                 "Heaviest stack:\n"
                 "  4    f300 + 4 (a.c:9) (in App) [0x100000300]\n"
                 "Call tree:\n"
                 "  4    f300 + 4 (a.c:9) (in App) [0x100000300]\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
    /* The report's own heaviest stack is kept apart from the tree after it. */
    check_report("Event:            cpu usage\n"
                 "Action taken:     none\n"
                 "CPU:              48 seconds cpu time over 60 seconds (80% cpu average), exceeding limit of 50%\n"
                 "Heaviest stack for the target process:\n"
                 "  18  ??? (App + 256) [0x100000100]\n"
                 "\n"
                 "Powerstats for:   App [7877]\n"
                 "  18  ??? (App + 256) [0x100000100] 1-18\n"
                 "    17  main + 40 (App.swift:31,1 in App + 400) [0x100000190] 1-17\n",
                 "Event:               cpu usage\n"
                 "Action taken:        none\n"
                 "Resource Usage:      48 seconds cpu time over 60 seconds (80% cpu average), exceeding limit of 50%\n"
                 "\n"
                 "Heaviest stack for the target process:\n"
                 "  18   f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "\n"
                 "Thread name:  App [7877]\n"
                 "Thread:\n"
                 "Heaviest stack:\n"
                 "  18   f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "  17   main + 40 (App.swift:31) (in App) [0x100000190]\n"
                 "Call tree:\n"
                 "  18   f100 + 4 (a.c:9) (in App) [0x100000100]\n"
                 "    17   main + 40 (App.swift:31) (in App) [0x100000190]\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Samples that are separate stacks become one tree for each thread. */
START_TEST(folded) {
    check_report("prog 5 1.0: 250000 cpu-clock: \n"
                 "\t 300 leaf+0x1 (/opt/App)\n"
                 "\t 200 mid+0x2 (/opt/App)\n"
                 "\n"
                 "prog 5 1.1: 250000 cpu-clock: \n"
                 "\t 301 leaf+0x2 (/opt/App)\n"
                 "\t 200 mid+0x2 (/opt/App)\n"
                 "\n"
                 "prog 5 1.2: 250000 cpu-clock: \n"
                 "\t 200 mid+0x2 (/opt/App)\n",
                 "Thread 5 name:  prog\n"
                 "Thread 5:\n"
                 "Heaviest stack:\n"
                 "  3    mid + 2 (in App) [0x200]\n"
                 "  2    leaf (in App)\n"
                 "Call tree:\n"
                 "  3    mid + 2 (in App) [0x200]\n"
                 "    2    leaf (in App)\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* ---- texts of every format, refused arguments ---- */

/* Whether a line of JSON is a register of a thread. */
static bool is_register(const char *line) {
    const char *value = strstr(line, "\"value\": ");
    return value != NULL && value < line + strcspn(line, "\n");
}

/* Returns the number of lines that are a frame, recognized by their indentation. */
static unsigned frames_in(const char *json) {
    unsigned count = 0;
    for (const char *at = json; (at = strstr(at, "\n            {")) != NULL; at++) count += !is_register(at + 1);
    return count;
}

static void check_all(const struct text *texts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct output text = {.text = NULL}, json = {.text = NULL};
        struct usp_reader_counts counts;
        struct usp_report *report = read_text(texts[i].in);
        ck_assert_int_eq(usp_report_get_counts(report, &counts), USP_OK);
        ck_assert_uint_eq(counts.frames, texts[i].frames);
        ck_assert_uint_eq(counts.frames,
                          counts.named + counts.answered + counts.no_symbol + counts.no_file + counts.no_image);
        ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &text), USP_OK);
        ck_assert_int_eq(usp_report_format(report, USP_REPORT_JSON, gather, &json), USP_OK);
        ck_assert_uint_gt(text.size, 0);
        ck_assert_msg(frames_in(json.text) == texts[i].frames, "%u frames in %s", frames_in(json.text), json.text);
        /* All frames belong to one report, which states their format. */
        ck_assert_msg(strstr(json.text, "\"format\": \"\"") == NULL, "%s", texts[i].format);
        free(text.text);
        free(json.text);
        usp_report_free(report);
    }
}

START_TEST(every_format) {
    check_all(apple_texts, sizeof apple_texts / sizeof *apple_texts);
    check_all(linux_texts, sizeof linux_texts / sizeof *linux_texts);
    check_all(documents, sizeof documents / sizeof *documents);
    check_all(named_texts, sizeof named_texts / sizeof *named_texts);
}
END_TEST

static int refuse(void *context, const char *bytes, size_t n) {
    (void)context, (void)bytes, (void)n;
    return USP_ERROR_SYSTEM;
}

static int fail_to_find(void *context, const struct usp_place *place, struct usp_answer *answer) {
    (void)context, (void)place, (void)answer;
    return USP_ERROR_NO_MEMORY;
}

START_TEST(refused) {
    static const struct {
        const char *text;
        int status;
    } texts[] = {
        {"", USP_ERROR_NOT_FOUND},
        {"no frames\nat all\n", USP_ERROR_NOT_FOUND},
        {"{\"a\":1}", USP_ERROR_NOT_FOUND},
        {"<?xml version=\"1.0\"?><trace-query-result><node><row><thread id=\"1\" fmt=\"Main\"><tid "
         "id=\"2\">7</tid></thread>"
         "<backtrace id=\"3\"></backtrace></row></node></trace-query-result>",
         USP_ERROR_NOT_FOUND},
        {"{\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}", USP_ERROR_TRUNCATED},
        {"{\"threads\":[{\"frames\":[{\"imageOffset\":16;\"imageIndex\":0}]}]}", USP_ERROR_FORMAT},
    };
    struct usp_reader_options options;
    struct usp_report *report;
    char error[128];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const size_t n = strlen(texts[i].text);
        ck_assert_int_eq(usp_report_create(NULL, texts[i].text, n, &report, error, sizeof error), texts[i].status);
        ck_assert_ptr_null(report);
        ck_assert_msg(error[0] != '\0', "text %zu is refused without a sentence", i);
        ck_assert(texts[i].status != USP_ERROR_NOT_FOUND || strcmp(error, "no frames were recognised") == 0);
        ck_assert_int_eq(usp_report_create(NULL, texts[i].text, n, &report, NULL, 0), texts[i].status);
    }
    usp_reader_options_init(&options);
    options.find = fail_to_find;
    ck_assert_int_eq(usp_report_create(&options, crash, strlen(crash), &report, NULL, 0), USP_ERROR_NO_MEMORY);
    ck_assert_int_eq(usp_report_create(NULL, NULL, 1, &report, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_report_create(NULL, crash, strlen(crash), NULL, NULL, 0), USP_ERROR_ARGUMENT);
    report = read_text(crash);
    ck_assert_int_eq(usp_report_format(report, 0, refuse, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, NULL, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, refuse, NULL), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_JSON, refuse, NULL), USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_report_get_counts(report, NULL), USP_ERROR_ARGUMENT);
    /* Unknown flags, and threads that the report does not have. */
    struct usp_report_options shown;
    usp_report_options_init(&shown);
    shown.flags = USP_REPORT_APP << 1;
    ck_assert_int_eq(usp_report_write(report, &shown, refuse, NULL), USP_ERROR_ARGUMENT);
    shown.flags = USP_REPORT_THREAD;
    shown.thread = 4711;
    ck_assert_int_eq(usp_report_write(report, &shown, refuse, NULL), USP_ERROR_NOT_FOUND);
    shown.flags |= USP_REPORT_CRASHED;
    ck_assert_int_eq(usp_report_write(report, &shown, refuse, NULL), USP_ERROR_SYSTEM);
    struct usp_reader *reader;
    usp_reader_options_init(&options);
    options.flags = USP_READER_NAMED << 1;
    ck_assert_int_eq(usp_reader_create(&options, &reader), USP_ERROR_ARGUMENT);
    usp_report_free(report);
    usp_report_free(NULL);
}
END_TEST

/* A report in one line of a text log is a report of its own, between the frames of the log. The first line of an old
 * .ips report has no frames; it describes the text after it. */
START_TEST(documents_in_lines) {
    check_report("{\"bug_type\":\"202\",\"app_name\":\"App\",\"app_version\":\"1.2\"}\n"
                 "Thread 0:\n"
                 "0   App  0x100000100 0x100000000 + 256\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App <" UUID_A "> /App\n"
                 "later: {\"usedImages\":[{\"base\":8589934592,\"uuid\":\"" UUID_B
                 "\",\"name\":\"libz.dylib\"}],\"frames\":[{\"imageOffset\":16,\"imageIndex\":0}]}\n"
                 "Thread 3:\n"
                 "0   App  0x100000200 0x100000000 + 512\n",
                 "Process:             App\n"
                 "Version:             1.2\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " APP "0x0000000100000100 f100 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - 0x10000ffff App <0123abcd456789abcdef0123456789ab> /App\n"
                 "\n"
                 "----\n"
                 "\n"
                 "Thread 0:\n"
                 "0   " LIBZ "0x0000000200000010 0x200000000 + 16\n"
                 "\n"
                 "Binary Images:\n"
                 "0x200000000 - ??? libz.dylib <b000000000000000000000000000000b>\n"
                 "\n"
                 "----\n"
                 "\n"
                 "Thread 3:\n"
                 "0   " APP "0x0000000100000200 f200 + 4 (a.c:9)\n"
                 "\n"
                 "Binary Images:\n"
                 "0x100000000 - ??? App <0123abcd456789abcdef0123456789ab>\n"
                 "\n",
                 USP_REPORT_TEXT);
}
END_TEST

/* Swift's own names, locations and inlined calls (CrashLog.swift) are kept. */
START_TEST(swift_with_names) {
    check_report(
        "{\"threads\":[{\"crashed\":true,\"frames\":["
        "{\"kind\":\"programCounter\",\"address\":\"0x1010\",\"inlined\":true,\"symbol\":\"index\",\"offset\":0,"
        "\"sourceLocation\":{\"file\":\"Array.swift\",\"line\":7,\"column\":3}},"
        "{\"kind\":\"programCounter\",\"address\":\"0x1010\",\"symbol\":\"checkout\",\"offset\":4,"
        "\"sourceLocation\":{\"file\":\"Cart.swift\",\"line\":31}},"
        "{\"kind\":\"returnAddress\",\"address\":\"0x1020\"}]}],"
        "\"images\":[{\"name\":\"App\",\"baseAddress\":\"0x1000\",\"endOfText\":\"0x2000\"}]}",
        "Thread 0 Crashed:\n"
        "0   " APP "0x0000000000001010 index [inlined] (Array.swift:7)\n"
        "0   " APP "0x0000000000001010 checkout + 4 (Cart.swift:31)\n"
        "1   " APP "0x0000000000001020 inner [inlined] (b.c:3)\n"
        "1   " APP "0x0000000000001020 f20 + 4 (a.c:9)\n"
        "\n"
        "Binary Images:\n"
        "0x1000 - 0x1fff App\n"
        "\n",
        USP_REPORT_TEXT);
}
END_TEST

/* A payload nests one level for each frame: it is read and written without recursion, in linear time. */
START_TEST(deep) {
    enum { FRAMES = 20000 };
    static const char frame[] = "{\"binaryUUID\":\"" UUID_A "\",\"offsetIntoBinaryTextSegment\":256,\"sampleCount\":1,"
                                "\"binaryName\":\"App\",\"address\":4294967552,\"subFrames\":[";
    struct output in = {.text = NULL}, out = {.text = NULL};
    static const char begin[] = "{\"hangDiagnostics\":[{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[";
    gather(&in, begin, sizeof begin - 1);
    for (unsigned i = 0; i < FRAMES; i++) gather(&in, frame, sizeof frame - 1);
    for (unsigned i = 0; i < FRAMES; i++) gather(&in, "]}", 2);
    gather(&in, "]}]}}]}", 7);
    struct usp_report *report = read_text(in.text);
    struct usp_reader_counts counts;
    ck_assert_int_eq(usp_report_get_counts(report, &counts), USP_OK);
    ck_assert_uint_eq(counts.answered, FRAMES);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &out), USP_OK);
    usp_report_free(report);
    free(in.text);
    free(out.text);
}
END_TEST

/* Texts with many equal parts. They take time linear in the number of parts; in quadratic time they would take
 * minutes. */
static const struct {
    const char *begin, *part, *end;
    unsigned count, frames;
} repeated[] = {
#define FRAME "{\"address\":1,\"offsetIntoBinaryTextSegment\":1}"
    {"{\"hangDiagnostics\":[{}", ",{\"callStackTree\":{\"callStacks\":[{\"callStackRootFrames\":[" FRAME "]}]}}", "]}",
     200000, 200000},
    {"{\"callStackTree\":{\"callStacks\":[{}", ",{\"callStackRootFrames\":[" FRAME "]}", "]}}", 400000, 400000},
    {"{\"a\":1", ",\"a\":[" FRAME "]", "}", 200000, 200000},
    {"{\"usedImages\":[]", ",\"a\":{\"debug_meta\":1},\"b\":[" FRAME "]", "}", 200000, 200000},
    {"[{}",
     ",{\"usedImages\":[{\"name\":\"a\"}],\"x\":{\"imageOffset\":1,\"imageIndex\":0}},{\"imageOffset\":1,"
     "\"imageIndex\":0}",
     "]", 200000, 400000},
};

START_TEST(many) {
    struct output in = {.text = NULL}, out = {.text = NULL};
    struct usp_report *report = NULL;
    gather(&in, repeated[_i].begin, strlen(repeated[_i].begin));
    for (unsigned i = 0; i < repeated[_i].count; i++) gather(&in, repeated[_i].part, strlen(repeated[_i].part));
    gather(&in, repeated[_i].end, strlen(repeated[_i].end));
    const int status = usp_report_create(NULL, in.text, in.size, &report, NULL, 0);
    ck_assert_int_eq(status, USP_OK);
    struct usp_reader_counts counts;
    ck_assert_int_eq(usp_report_get_counts(report, &counts), USP_OK);
    ck_assert_uint_eq(counts.frames, repeated[_i].frames);
    ck_assert_int_eq(usp_report_format(report, USP_REPORT_TEXT, gather, &out), USP_OK);
    usp_report_free(report);
    free(in.text);
    free(out.text);
}
END_TEST

int main(void) {
    TCase *tcase = tcase_create("report"), *large = tcase_create("large");
    add_tests(tcase, a_crash, a_crash_in_json, long_information, long_texts_that_alternate, message_of_lines,
              imitated_heading, message_of_an_exception, fields_of_ips, notes_of_ips, reasons_of_lines,
              images_of_several, swift_with_names, documents_in_lines, text_of_apple, application_backtrace, panics,
              metrickit, metrickit_alone, metrickit_fields, metrickit_events, metrickit_orders, metrickit_exact,
              frame_in_no_array, without_a_root, trees, folded, every_format, refused, deep, cut_json, recording,
              jetsam);
    add_loop_tests(tcase, 0, ELEMENTS(kscrash_reports), kscrash);
    add_loop_tests(tcase, 0, ELEMENTS(binary_infos), diagnostic_report);
    add_loop_tests(tcase, 0, ELEMENTS(json_reports), other_json);
    add_loop_tests(tcase, 0, ELEMENTS(line_reports), other_lines);
    add_loop_tests(large, 0, ELEMENTS(repeated), many);
    return run_suite("read_report", tcase, large);
}
