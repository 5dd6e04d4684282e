/* SPDX-License-Identifier: MIT */
/* `unspool symbolize`: its arguments, which are those of Apple's atos(1) and more. What is done with addresses stands in
 * symbolize_addresses.c, what is done with logs in log.c. */
#include "tools/symbolize.h"
#include "tools/arguments.h"
#include "tools/command.h"
#include "tools/log.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *out) {
    fputs("usage: unspool symbolize -o FILE [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize -p PID [OPTION...] [ADDRESS...]\n"
          "       unspool symbolize --log FILE|- --search DIR... [--binary-images FILE] [--demangle MODE]\n"
          "\n"
          "Names addresses by the symbols of a program, a library or a dSYM, as atos does. Without addresses it reads\n"
          "them from standard input and answers each at once. What has no name is written as it was given.\n"
          "\n"
          "  -o FILE            the program, library or dSYM (bundle, or the file in it): Mach-O or ELF; what is not\n"
          "                     linked: 'libx.a(member.o)', 'x.o:(.text.f)'\n"
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
          "  --log FILE         name the unnamed frames of a log, a .crash or an .ips report in place; -: standard\n"
          "                     input\n"
          "  --search DIR       where the images' files lie: dSYMs, programs, libraries; may be given again\n"
          "  --binary-images FILE\n"
          "                     what tells the log's images, where the log itself does not\n"
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
    OPTION_LOG,
    OPTION_SEARCH,
    OPTION_BINARY_IMAGES,
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
    {"log", required_argument, NULL, OPTION_LOG},
    {"search", required_argument, NULL, OPTION_SEARCH},
    {"binary-images", required_argument, NULL, OPTION_BINARY_IMAGES},
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

struct request {
    struct address_options addresses;
    struct log_options log; /* log NULL: addresses are wanted */
    const char **search;    /* room for as many folders as there are arguments */
    bool asks_for_help;
};

static bool parse_option(int option, struct request *request) {
    struct address_options *wanted = &request->addresses;
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
    case OPTION_LOG: request->log.log = optarg; return true;
    case OPTION_SEARCH: request->search[request->log.search_count++] = optarg; return true;
    case OPTION_BINARY_IMAGES: request->log.binary_images = optarg; return true;
    case OPTION_JSON: wanted->json = true; return true;
    case 'i':
    case OPTION_INLINE: complain("inlined calls are not known: the function that holds the code is named"); return true;
    case 'd':
    case OPTION_NO_EFFECT: return true;
    case OPTION_TEXT_EXEC: complain("-textExecAddress, for kernels, is not supported; -l and -s are"); return false;
    case 'h':
    case OPTION_HELP: request->asks_for_help = true; return true;
    default: return false; /* getopt has said why */
    }
}

/* What does not go together. */
static bool check_addresses(const struct address_options *wanted) {
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

static bool check_log(const struct request *request) {
    const struct address_options *others = &request->addresses;
    const struct image_choice *image = &others->image;
    if (request->log.search_count == 0) {
        complain("--log needs to be told where the images' files lie: --search DIR");
        return false;
    }
    bool has_image = image->path != NULL || others->process != 0 || image->place != IMAGE_LINKED ||
                     image->arch != USP_ARCH_NONE || image->build_id_size > 0;
    if (!has_image && others->input == NULL && others->address_count == 0 && !others->json) return true;
    complain("--log goes with --search, --binary-images and --demangle alone");
    return false;
}

static bool check(const struct request *request) {
    if (request->log.log != NULL) return check_log(request);
    if (request->log.search_count == 0 && request->log.binary_images == NULL) {
        return check_addresses(&request->addresses);
    }
    complain("--search and --binary-images are for --log");
    return false;
}

static int serve(int argc, char **argv, struct request *request) {
    struct address_options *addresses = &request->addresses;
    bool is_right = true;
    while (is_right && !request->asks_for_help) {
        int option = getopt_long_only(argc, argv, "o:p:l:s:f:d:ih", options, NULL);
        if (option == -1) break;
        is_right = parse_option(option, request);
    }
    if (request->asks_for_help) {
        usage(stdout);
        return EXIT_ALL_WELL;
    }
    addresses->addresses = (const char *const *)argv + optind;
    addresses->address_count = (size_t)(argc - optind);
    if (!is_right || !check(request)) {
        fputs("`unspool symbolize --help` tells more.\n", stderr);
        return EXIT_USAGE;
    }
    if (request->log.log == NULL) return symbolize_addresses(addresses);
    request->log.search = request->search;
    request->log.demangling = addresses->demangling;
    return symbolize_log(&request->log);
}

static int run(int argc, char **argv) {
    struct request request = {.addresses.demangling = USP_DEMANGLE_FULL};
    request.search = calloc((size_t)argc, sizeof *request.search);
    if (request.search == NULL) {
        complain("%s", usp_strerror(USP_ERROR_NO_MEMORY));
        return EXIT_FAILED;
    }
    int status = serve(argc, argv, &request);
    free(request.search);
    return status;
}

const struct command command_symbolize = {"symbolize", "names for addresses, as atos gives them, and in logs", run};
