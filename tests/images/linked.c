/* SPDX-License-Identifier: MIT */
/* For tests/images/linked.sh, which links it in several ways: checks the list of its own images, captures a waiting
 * thread and symbolicates its stack.
 *
 * linked PATH    PATH: the program's own path, which the list of images must have. Prints errors; their number is the
 * exit status. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <unspool/unspool.h>

#if defined(__clang__)
#define KEPT __attribute__((noinline))
#else
#define KEPT __attribute__((noinline, noclone))
#endif

#define FRAMES 64

static sem_t waits, may_leave;
static int failures;
static volatile int sink;

static void expect(int is_right, const char *what) {
    if (is_right) return;
    printf("not so: %s\n", what);
    failures++;
}

KEPT static void wait_here(void) {
    sem_post(&waits);
    while (sem_wait(&may_leave) != 0) continue;
    sink++;
}

KEPT static void *begin_here(void *context) {
    wait_here();
    sink++;
    return context;
}

static void look_at_images(const struct usp_images *images, const char *path) {
    const struct usp_image *image, *own = usp_images_find(images, (usp_addr)(uintptr_t)&begin_here);
    unsigned programs = 0;
    for (size_t i = 0; (image = usp_images_get(images, i)) != NULL; i++) {
        if ((image->flags & USP_IMAGE_MAIN) != 0) programs++;
    }
    expect(programs == 1, "one image is the program");
    expect(own != NULL, "an image holds the program's code");
    if (own == NULL) return;
    expect((own->flags & USP_IMAGE_MAIN) != 0, "it is the program");
    expect((own->flags & USP_IMAGE_PERMANENT) != 0, "it stays");
    expect(strcmp(own->path, path) == 0, own->path);
}

/* The names must come in the order of the stack; others may be between them. */
static void look_at_names(const struct usp_stack *stack, struct usp_symbolizer *symbolizer) {
    static const char *const expected[] = {"wait_here", "begin_here"};
    unsigned next = 0;
    for (uint32_t i = 0; i < stack->count && next < 2; i++) {
        struct usp_symbol symbol;
        int status = usp_symbolize(symbolizer, usp_frame_call_site(stack->arch, &stack->frames[i]), &symbol);
        if (status == USP_OK && strcmp(symbol.name, expected[next]) == 0) next++;
    }
    expect(next == 2, "both functions of the thread have their names");
    for (uint32_t i = 0; i < stack->count && next < 2; i++) printf("%#llx\n", (unsigned long long)stack->frames[i].pc);
}

int main(int argc, char **argv) {
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_thread thread;
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    pthread_t waiting;
    if (argc != 2) return 2;
    if (usp_prepare(NULL) != USP_OK) return 3;
    if (usp_images_create_self(&images) != USP_OK || usp_symbolizer_create(NULL, NULL, &symbolizer) != USP_OK) return 4;
    sem_init(&waits, 0, 0);
    sem_init(&may_leave, 0, 0);
    if (pthread_create(&waiting, NULL, begin_here, NULL) != 0) return 5;
    while (sem_wait(&waits) != 0) continue;
    usp_stack_init(&stack, frames, FRAMES);
    expect(usp_thread_from_pthread((uintptr_t)waiting, &thread) == USP_OK, "the thread is found");
    expect(usp_capture_thread(&thread, NULL, &stack) == USP_OK, "the thread is captured");
    look_at_images(images, argv[1]);
    look_at_names(&stack, symbolizer);
    expect(stack.stop == USP_STOP_ROOT, usp_stop_reason_string(stack.stop));
    sem_post(&may_leave);
    pthread_join(waiting, NULL);
    usp_thread_release(&thread);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    usp_shutdown();
    return failures;
}
