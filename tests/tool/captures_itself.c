/* SPDX-License-Identifier: MIT */
/* For tests/tool/raw.sh: captures itself in a signal handler below a call that never returns, writes the capture at
 * once, and prints the names that the process itself finds. The caller ends with that call, so the return address lies
 * after the function.
 *
 * captures_itself FILE [JSON]
 *
 * JSON: file for the same stack, without a list of its images.
 *
 * Output: the lines of callStackSymbols. With glibc there are two more lines, after "differs: ", for each frame that
 * backtrace_symbols(3) writes differently from the library. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include <unspool/unspool.h>

#if defined(__clang__)
#define EXPORTED __attribute__((noinline, visibility("default")))
#else
#define EXPORTED __attribute__((noinline, noclone, visibility("default")))
#endif

/* Exported, so that glibc can name them. */
_Noreturn void never_returns(int n);
void ends_in_noreturn(int n);
int calls_it(int n);

#define FRAMES 64
static struct usp_frame frames[FRAMES];
static struct usp_stack stack;
static struct usp_images *images;
static int file = -1, write_status = USP_ERROR_SYSTEM;
static const char *json_path;

static void capture(int number, siginfo_t *info, void *context) {
    static const struct usp_thread_info thread = {.thread = {.id = 1}, .name = "main", .flags = USP_THREAD_MAIN};
    struct usp_raw_capture raw;
    (void)number;
    (void)info;
    usp_stack_init(&stack, frames, FRAMES);
    usp_capture_context(context, NULL, &stack);
    const struct usp_raw_thread written = {.info = &thread, .stack = &stack};
    usp_raw_capture_init(&raw);
    raw.pid = getpid();
    raw.images = images;
    raw.threads = &written;
    raw.thread_count = 1;
    write_status = usp_raw_write(file, &raw);
}

static int print(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

#ifdef __GLIBC__
static void format_frame(char line[1024], uint32_t i, const struct usp_symbol *symbol) {
    usp_format_frame(line, 1024, USP_FORMAT_BACKTRACE_SYMBOLS, &stack, i, symbol);
}

static void compare_with_glibc(struct usp_symbolizer *symbolizer) {
    for (uint32_t i = 0; i < stack.count; i++) {
        char named[1024], unnamed[1024];
        struct usp_symbol symbol;
        void *address = (void *)(uintptr_t)frames[i].pc;
        char **theirs = backtrace_symbols(&address, 1);
        if (theirs == NULL) abort();
        usp_symbolize(symbolizer, usp_frame_call_site(stack.arch, &frames[i]), &symbol);
        format_frame(named, i, &symbol);
        symbol.name = NULL;
        format_frame(unnamed, i, &symbol);
        /* backtrace_symbols knows exported functions only. */
        if (strcmp(named, theirs[0]) != 0 && strcmp(unnamed, theirs[0]) != 0) {
            printf("differs: %s %s\n", named, theirs[0]);
        }
        free(theirs);
    }
}
#else
static void compare_with_glibc(struct usp_symbolizer *symbolizer) { (void)symbolizer; }
#endif

_Noreturn EXPORTED void never_returns(int n) {
    struct usp_format_options options;
    struct usp_symbolizer *symbolizer;
    raise(SIGUSR1);
    if (write_status != USP_OK || usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK) exit(n);
    usp_format_options_init(&options);
    options.symbolizer = symbolizer;
    if (usp_format_stack(&stack, NULL, &options, print, stdout) != USP_OK) exit(n);
    FILE *json = json_path != NULL ? fopen(json_path, "w") : NULL;
    if (json != NULL) {
        options.style = USP_FORMAT_JSON;
        if (usp_format_stack(&stack, NULL, &options, print, json) != USP_OK || fclose(json) != 0) exit(n);
    }
    compare_with_glibc(symbolizer);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    exit(0);
}

EXPORTED void ends_in_noreturn(int n) { never_returns(n + 1); }

EXPORTED int calls_it(int n) {
    int volatile kept = n;
    if (kept < 100) ends_in_noreturn(kept);
    return kept;
}

EXPORTED int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = capture, .sa_flags = SA_SIGINFO};
    if (argc != 2 && argc != 3) return 2;
    if (argc == 3) json_path = argv[2];
    file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || usp_images_create_self(&images) != USP_OK || sigaction(SIGUSR1, &action, NULL) != 0) return 3;
    return calls_it(2);
}
