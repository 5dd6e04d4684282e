/* SPDX-License-Identifier: MIT */
/* The emulated processor with an image and a stack: Unicorn, by the library's register numbers. Makes no decisions
 * about stacks. */
#ifndef TESTS_EMULATED_MACHINE_H
#define TESTS_EMULATED_MACHINE_H

#include <unicorn/unicorn.h>

#include "arch/backend.h"
#include "image.h"

/* The state right before an instruction is executed. */
struct moment {
    usp_addr pc; /* without the Thumb bit */
    uint32_t length;
    struct usp_registers registers; /* pc and flags included */
};

struct machine {
    uc_engine *uc;
    const struct uspi_backend *backend;
    const struct image *image;
    uint8_t *stack;
    usp_addr stack_low, stack_high;
    usp_addr root;               /* the address to which the entry returns, without the Thumb bit */
    struct usp_memory elsewhere; /* memory outside stack and image; read == NULL: none */
    /* The instructions of the newest IT block, and each one's ITSTATE. Unicorn keeps it in the translated code, where
     * no register read finds it, but a stopped thread's cpsr has it. */
    usp_addr it_pc[4];
    uint8_t it_state[4];
    usp_addr it_end;
    usp_addr after_last;        /* address after the last executed instruction */
    int ids[USP_REGISTERS_MAX]; /* Unicorn's register numbers, by the library's number */
    uint64_t raw[USP_REGISTERS_MAX];
    void *places[USP_REGISTERS_MAX];
    const char *error;
};

/* Starts the processor (enum usp_arch) alone: the caller maps the memory, and sets `elsewhere` to it. Returns false on
 * a failure, which machine->error names; machine_close frees the machine in both cases. */
bool machine_start(struct machine *machine, uint32_t arch);

/* Starts the processor with an image and a stack. stack_high: the end of the stack, page-aligned. Otherwise as
 * machine_start. */
bool machine_open(struct machine *machine, const struct image *image, usp_addr stack_high);
void machine_close(struct machine *machine);

/* Calls each_moment before every instruction of usp_workload(rounds), and once more after its return. Sets *result to
 * its return value. Unicorn does not stop at an instruction in an IT block whose condition does not hold; a thread can
 * be stopped there, and so each_moment is called for it, too. */
bool machine_run(struct machine *machine, usp_addr entry, bool thumb, unsigned rounds,
                 void (*each_moment)(void *context, const struct moment *now), void *context, uint32_t *result);

/* Fills *now with the state at an instruction of `length` bytes that is about to be executed. */
void machine_moment(struct machine *machine, usp_addr pc, uint32_t length, struct moment *now);

/* Reads all n bytes, or returns false. */
bool machine_read(const struct machine *machine, usp_addr from, void *to, size_t n);

/* Reads a little-endian number of n <= 8 bytes. */
bool machine_load(const struct machine *machine, usp_addr from, unsigned n, uint64_t *value);

void machine_set(struct machine *machine, unsigned reg, uint64_t value);

/* Ends the run; the reason is a static string. */
void machine_fail(struct machine *machine, const char *why);

#endif
