/* SPDX-License-Identifier: MIT */
/* Compares the command with other programs for the same purpose. `unspool symbolize` of 10,000 addresses in a program
 * of 150,000 functions runs against llvm-symbolizer. `unspool stack` of processes with 300 libraries runs against
 * eu-stack, which writes no source lines by default; so neither command does. Whole processes are measured: the time
 * from start to end, and the peak of memory as the kernel counts it. The compiler that CC names makes the program and
 * libraries. Run in the build folder. Files are in the page cache when it begins. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"
#include "tests/bench/started_command.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS     9u
#define STACKS     31u /* rounds of the stacks, which take less time */
#define FUNCTIONS  150000u
#define ADDRESSES  10000u
#define LIBRARIES  300u
#define SYMBOLIZED 5.0 /* goal: times as fast as llvm-symbolizer */

static char folder[] = "/tmp/unspool-bench-XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[8][sizeof folder + 64];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

static FILE *create(const char *name) {
    FILE *file = fopen(in_folder(name), "w");
    if (file == NULL) give_up(name);
    return file;
}

static void compile(const char *flags, const char *from, const char *to) {
    const char *compiler = getenv("CC") != NULL ? getenv("CC") : "cc";
    char line[1024];
    snprintf(line, sizeof line, "%s %s %s -o %s", compiler, flags, in_folder(from), in_folder(to));
    if (system(line) != 0) give_up(line);
}

/* ---- commands ---- */

struct command {
    const char *arguments[8];
    const char *input;  /* file for standard input; NULL: none */
    const char *wanted; /* text that a counted line contains; NULL: every line that is not empty counts */
    unsigned lines;     /* counted lines of the last output */
    double first_line[ROUNDS_MAX];
    long memory[ROUNDS_MAX]; /* in kB */
    unsigned runs;
};

static void run_command(void *context, unsigned times) {
    struct command *command = context;
    for (unsigned i = 0; i < times; i++) {
        struct rusage usage;
        char *line = NULL;
        size_t capacity = 0;
        uint64_t begin = usp_clock();
        struct started_command started = start_command(command->arguments, command->input);
        double first = 0;
        command->lines = 0;
        while (getline(&line, &capacity, started.output) > 1) {
            if (first == 0) first = (double)(usp_clock() - begin);
            command->lines += command->wanted == NULL || strstr(line, command->wanted) != NULL;
            /* Skips the empty lines that llvm-symbolizer and eu-stack write between their answers. */
            int next = getc(started.output);
            if (next != '\n' && next != EOF) ungetc(next, started.output);
        }
        free(line);
        fclose(started.output);
        wait4(started.pid, NULL, 0, &usage);
        command->first_line[command->runs % ROUNDS_MAX] = first;
        command->memory[command->runs++ % ROUNDS_MAX] = usage.ru_maxrss;
    }
}

static double median_memory(const struct command *command) {
    double values[ROUNDS_MAX];
    unsigned count = command->runs < ROUNDS_MAX ? command->runs : ROUNDS_MAX;
    for (unsigned i = 0; i < count; i++) values[i] = (double)command->memory[i];
    return median(values, count) / 1024;
}

static double median_first_line(const struct command *command) {
    return median(command->first_line, command->runs < ROUNDS_MAX ? command->runs : ROUNDS_MAX) / 1e6;
}

/* Runs both commands, or only ours if the other is not installed. Returns the number of commands run. */
static unsigned compare(struct subject subjects[2], struct command *ours, struct command *other, unsigned rounds) {
    subjects[0] = (struct subject){ours->arguments[1], run_command, ours, 1, {0}};
    subjects[1] = (struct subject){other->arguments[0], run_command, other, 1, {0}};
    unsigned count = is_installed(other->arguments[0]) ? 2 : 1;
    if (count == 1) printf("%s is not installed: nothing to compare with\n", other->arguments[0]);
    time_subjects(subjects, count, rounds);
    for (unsigned i = 0; i < count; i++) {
        const struct command *command = subjects[i].context;
        printf("%-20s %8.1f ms, first line after %8.1f ms, %6.1f MB, %u lines\n", subjects[i].name,
               median(subjects[i].rounds, rounds) / 1e6, median_first_line(command), median_memory(command),
               command->lines);
    }
    if (count < 2 || ours->lines == other->lines) return count;
    printf("They do not answer alike: nothing to compare\n");
    return 1;
}

/* ---- addresses ---- */

static void write_program(void) {
    FILE *file = create("program.s");
    fprintf(file, ".text\n.globl _start\n_start:\n");
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        fprintf(file,
                ".globl _ZN5bench15function_%06uEv\n.type _ZN5bench15function_%06uEv, %%function\n"
                "_ZN5bench15function_%06uEv:\n.skip %u\n.size _ZN5bench15function_%06uEv, . - "
                "_ZN5bench15function_%06uEv\n",
                i, i, i, 16 + i % 7 * 8, i, i);
    }
    fclose(file);
    compile("-nostdlib -static", "program.s", "program");
}

/* Writes pseudorandom addresses in the program's code. */
static void write_addresses(void) {
    struct usp_images *images;
    char error[512];
    if (usp_images_open(in_folder("program"), NULL, &images, error, sizeof error) != USP_OK) give_up(error);
    const struct usp_image *image = usp_images_get(images, 0);
    FILE *file = create("addresses");
    for (uint64_t i = 1; i <= ADDRESSES; i++) {
        /* Knuth's multiplier for hashing by multiplication. */
        usp_addr offset = i * UINT64_C(2654435761) % (image->text_high - image->text_low);
        fprintf(file, "0x%" PRIx64 "\n", image->text_low + offset);
    }
    fclose(file);
    usp_images_free(images);
}

static void compare_symbolizers(void) {
    char object[sizeof folder + 64];
    write_program();
    write_addresses();
    snprintf(object, sizeof object, "--obj=%s", in_folder("program"));
    /* Both print the names as they are in the file. */
    struct command ours = {
        .arguments = {OUR_COMMAND, "symbolize", "--demangle=no", "-o", in_folder("program")},
        .input = in_folder("addresses"),
        .wanted = "function_",
    };
    struct command other = {
        .arguments = {"llvm-symbolizer-19", object, "--no-inlines", "--functions=linkage", "--no-demangle"},
        .input = ours.input,
        .wanted = "function_",
    };
    struct subject subjects[2];
    printf("%u addresses in a program of %u functions; medians of %u\n", ADDRESSES, FUNCTIONS, ROUNDS);
    if (compare(subjects, &ours, &other, ROUNDS) < 2) return;
    double times = ratio(&subjects[1], &subjects[0], ROUNDS);
    printf("%.1f times as fast, to reach %.0f: %s; %.1f times the memory, to reach less: %s\n", times, SYMBOLIZED,
           verdict(times >= SYMBOLIZED), median_memory(&ours) / median_memory(&other),
           verdict(median_memory(&ours) < median_memory(&other)));
}

/* ---- a process with many images ---- */

static volatile unsigned sink;
static int ready;

typedef void (*pass)(const void *const *next);

APART static void stand(const void *const *next) {
    (void)next;
    if (write(ready, "r", 1) != 1) _exit(1);
    for (;;) pause();
    sink++;
}

/* Loads all libraries. `used` of them are on the stack: each calls the next. */
static void be_process(unsigned used) {
    static const void *chain[LIBRARIES + 1];
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    for (unsigned i = 0; i < LIBRARIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "library_%u.so", i);
        void *library = dlopen(in_folder(name), RTLD_NOW);
        if (library == NULL) _exit(1);
        if (i % (LIBRARIES / used) == 0) chain[i / (LIBRARIES / used)] = dlsym(library, "pass_on");
    }
    chain[used] = (const void *)(uintptr_t)stand;
    ((pass)(uintptr_t)chain[0])(chain + 1);
}

static pid_t start_process(unsigned used) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) give_up("pipe");
    pid_t pid = fork();
    ready = ends[1];
    if (pid == 0) be_process(used);
    close(ends[1]);
    bool is_ready = pid > 0 && read(ends[0], &byte, 1) == 1;
    close(ends[0]);
    if (!is_ready) give_up("the process with many libraries");
    return pid;
}

/* Compiles the same code into libraries of different names. For the loader and for a reader of the process, only their
 * number matters. */
static void write_libraries(void) {
    FILE *file = create("library.c");
    for (unsigned i = 0; i < 200; i++) fprintf(file, "int function_%u(int a) { return a * %u + 1; }\n", i, i);
    fprintf(file, "volatile unsigned sink;\n"
                  "void pass_on(void **next) { ((void (*)(void **))next[0])(next + 1); sink++; }\n");
    fclose(file);
    compile("-shared -fPIC -O1 -fno-omit-frame-pointer", "library.c", "library.so");
    for (unsigned i = 0; i < LIBRARIES; i++) {
        char line[256];
        snprintf(line, sizeof line, "cp %s/library.so %s/library_%u.so", folder, folder, i);
        if (system(line) != 0) give_up(line);
    }
}

/* used: how many of the libraries are on the stack; a divisor of LIBRARIES */
static void compare_stacks(unsigned used) {
    char id[16];
    pid_t pid = start_process(used);
    snprintf(id, sizeof id, "%d", (int)pid);
    struct command ours = {.arguments = {OUR_COMMAND, "stack", "--no-lines", "--max", "1000", id}, .wanted = "pass_on"};
    struct command other = {.arguments = {"eu-stack", "-n", "1000", "-p", id}, .wanted = "pass_on"};
    struct subject subjects[2];
    printf("\na process with %u libraries, %u of them on the stack; medians of %u\n", LIBRARIES, used, STACKS);
    if (compare(subjects, &ours, &other, STACKS) == 2) {
        double times = ratio(&subjects[1], &subjects[0], STACKS);
        printf("%.2f times as fast to the end, to reach 1: %s; %.1f to the first line\n", times, verdict(times >= 1),
               median_first_line(&other) / median_first_line(&ours));
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void) {
    char line[sizeof folder + 16];
    if (mkdtemp(folder) == NULL) give_up(folder);
    compare_symbolizers();
    write_libraries();
    fflush(stdout);
    compare_stacks(LIBRARIES);
    fflush(stdout);
    compare_stacks(20);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line) == 0 ? 0 : 1;
}
