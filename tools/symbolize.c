/* SPDX-License-Identifier: MIT */
/* `unspool symbolize`: its arguments, which are those of Apple's atos(1) and more. What is done with addresses stands in
 * symbolize_addresses.c. */
#include "tools/symbolize.h"
#include "tools/arguments.h"
#include "tools/command.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool symbolize -o FILE [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize -p PID [OPTION...] [ADDRESS...]\n"
          "\n"
          "Names addresses by the symbols of a program, a library or a dSYM, as atos does. Without addresses it reads\n"
          "them from standard input and answers each at once. What has no name is written as it was given.\n"
          "\n"
          "  -o FILE            the program, library or dSYM (bundle, or the file in it): Mach-O or ELF\n"
          "  -p PID             a running process instead\n"
          "  --arch NAME        which image of a fat file: arm64, arm64_32, armv7, x86_64, i386. Default: the only "
          "one,\n"
          "                     or the host's\n"
          "  --uuid UUID        the UUID or build-id that it must have\n"
          "  -l ADDRESS         where it was loaded (hexadecimal)\n"
          "  -s SLIDE           by how much it was moved (hexadecimal), in place of -l\n"
          "  --offset           the addresses are offsets from its beginning\n"
          "  -f FILE            read the addresses from a file\n"
          "  --demangle MODE    names of C++, Rust and Swift: full (default), simple, no\n"
          "  --json             a JSON object for each address, one a line\n"
          "  --help             this\n"
          "\n"
          "-arch and -offset with one dash are understood as well. -i, -d, -fullPath and -printHeader of atos change\n"
          "nothing: inlined calls and line numbers are not known here.\n"
          "\n"
          "exit status: 0 all is well, whether or not addresses have names; 2 wrong usage, 3 the file or process "
          "cannot be\n"
          "read or has another UUID, 4 something else failed\n",
          out);
}

enum {
    OPTION_ARCH = 256,
    OPTION_UUID,
    OPTION_OFFSET,
    OPTION_DEMANGLE,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_INLINE,
    OPTION_NO_EFFECT,
    OPTION_TEXT_EXEC
};

static const struct option options[] = {
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"uuid", required_argument, NULL, OPTION_UUID},
    {"offset", no_argument, NULL, OPTION_OFFSET},
    {"demangle", required_argument, NULL, OPTION_DEMANGLE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {"inlineFrames", no_argument, NULL, OPTION_INLINE},
    {"fullPath", no_argument, NULL, OPTION_NO_EFFECT},
    {"printHeader", no_argument, NULL, OPTION_NO_EFFECT},
    {"textExecAddress", required_argument, NULL, OPTION_TEXT_EXEC},
    {NULL, 0, NULL, 0},
};

/* Where the image lies can be said once. */
static bool place_image(struct image_choice *image, enum image_place place, const char *base) {
    if (image->place != IMAGE_LINKED) {
        complain("only one of -l, -s and --offset can be given");
        return false;
    }
    image->place = place;
    if (base == NULL || parse_hex(base, &image->base)) return true;
    complain("-%c wants an address in hexadecimal, not \"%s\"", place == IMAGE_SLID ? 's' : 'l', base);
    return false;
}

static bool parse_process(struct address_options *wanted) {
    if (parse_target(optarg, &wanted->process) && wanted->process != 0) return true;
    complain("-p wants a process id, not \"%s\"", optarg);
    return false;
}

static bool parse_option(int option, struct address_options *wanted, bool *asks_for_help) {
    switch (option) {
    case 'o': wanted->image.path = optarg; return true;
    case 'p': return parse_process(wanted);
    case 'l': return place_image(&wanted->image, IMAGE_LOADED, optarg);
    case 's': return place_image(&wanted->image, IMAGE_SLID, optarg);
    case OPTION_OFFSET: return place_image(&wanted->image, IMAGE_LOADED, NULL);
    case 'f': wanted->input = optarg; return true;
    case OPTION_ARCH: return parse_arch(optarg, &wanted->image.arch);
    case OPTION_UUID: return parse_uuid(optarg, wanted->image.build_id, &wanted->image.build_id_size);
    case OPTION_DEMANGLE: return parse_demangling(optarg, &wanted->demangling);
    case OPTION_JSON: wanted->json = true; return true;
    case 'i':
    case OPTION_INLINE: complain("inlined calls are not known: the function that holds the code is named"); return true;
    case 'd':
    case OPTION_NO_EFFECT: return true;
    case OPTION_TEXT_EXEC: complain("-textExecAddress, for kernels, is not supported; -l and -s are"); return false;
    case 'h':
    case OPTION_HELP: *asks_for_help = true; return true;
    default: return false; /* getopt has said why */
    }
}

/* What does not go together. */
static bool check(const struct address_options *wanted) {
    const struct image_choice *image = &wanted->image;
    bool is_process = wanted->process != 0;
    if (is_process == (image->path != NULL)) {
        complain(is_process ? "either -o or -p" : "symbolize: -o FILE is missing");
        return false;
    }
    if (is_process && (image->place != IMAGE_LINKED || image->arch != USP_ARCH_NONE || image->build_id_size > 0)) {
        complain("--arch, --uuid, -l, -s and --offset are for files");
        return false;
    }
    if (wanted->input != NULL && wanted->address_count > 0) {
        complain("addresses come either from -f or from the command line");
        return false;
    }
    return true;
}

static int run(int argc, char **argv) {
    struct address_options wanted = {.demangling = USP_DEMANGLE_FULL};
    bool asks_for_help = false, is_right = true;
    for (int option; is_right && !asks_for_help;) {
        option = getopt_long_only(argc, argv, "o:p:l:s:f:d:ih", options, NULL);
        if (option == -1) break;
        is_right = parse_option(option, &wanted, &asks_for_help);
    }
    if (asks_for_help) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    wanted.addresses = (const char *const *)argv + optind;
    wanted.address_count = (size_t)(argc - optind);
    if (!is_right || !check(&wanted)) {
        fputs("`unspool symbolize --help` tells more.\n", stderr);
        return EXIT_USAGE;
    }
    return symbolize_addresses(&wanted);
}

const struct command command_symbolize = {"symbolize", "names for addresses, as atos gives them", run};
