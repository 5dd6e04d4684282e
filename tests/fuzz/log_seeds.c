/* SPDX-License-Identifier: MIT */
/* Writes what tests/fuzz/fuzz_log.c begins with: each form of a frame and of a list of images. The image is the fuzzer
 * itself, so that there are names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define IMAGE "fuzz_log"
#define UUID  "01234567-89AB-CDEF-0123-456789ABCDEF"

static const char *const logs[] = {
    "0   " IMAGE "                            0x0000000100004a10 " IMAGE " + 18960\n"
    "1   " IMAGE "                            0x0000000100104a10 " IMAGE " + 1067536 (main.m:12)\n"
    "2   libc                                0x0000000200004a10 <redacted> + 84\n"
    "3   ???                                 0x0000000300004a10 0x300004a10 + 0\n"
    "4   " IMAGE "                            0x0000000100004a10 " UUID " + 18960\n"
    "5   " IMAGE "                            0x0000000100004a10 -[View draw:] + 28\n",
    "(\n\t\"0   " IMAGE "   0x0000000100104a10 " IMAGE " + 1067536\",\n)\n",
    "Backtrace of Thread 771:\n" IMAGE "                        0x100104a10 0x100000000 + 1067536\n"
    "_sigtramp_image           0x100104a10 _sigtramp + 52\n"
    "fuzz_log           0x100104a10 _mh_execute_header + 1067536\n",
    "/opt/" IMAGE "(+0x104a10) [0x55d0c0104a10]\n/opt/" IMAGE "() [0x504a10]\n/opt/" IMAGE
    "(main+0x1f) [0x55d0c0104a10]\n/opt/" IMAGE "(+0) [0x0]\n",
    "0   " UUID " + 0x104a10 /opt/" IMAGE "\n1   ??? + 0x104a10 /opt/" IMAGE "\n    asynchronous callers\n"
    "2   0123456789abcdef0123456789abcdef01234567 + 0x1 /opt/x\n",
    IMAGE " + 1067536\n" UUID " + 5\n",
    "Process: x [1]\n\nThread 0 Crashed:\n0   " IMAGE "   \t0x0000000100104a10 0x100000000 + 1067536\n\n"
    "Binary Images:\n0x100000000 - 0x10fffffff " IMAGE " arm64  <0123456789abcdef0123456789abcdef> /opt/" IMAGE "\n"
    "       0x10ab2f000 -        0x10ab36fff +com.example.App (1.0 - 1) <" UUID "> /App.app/App\n"
    "0x0 - 0xffffffffffffffff ??? (*) <00000000-0000-0000-0000-000000000000> ???\n",
    "{\"app_name\":\"x\",\"bug_type\":\"309\"}\n"
    "{\"threads\":[{\"triggered\":true,\"frames\":[{\"imageOffset\":1067536,\"imageIndex\":0},"
    "{\"imageOffset\":1067540,\"symbol\":\"<redacted>\",\"symbolLocation\":8,\"imageIndex\":0},"
    "{\"symbolLocation\":8,\"imageIndex\":1,\"imageOffset\":1067540}]}],\n\"usedImages\" : [\n"
    "{\"source\":\"P\",\"arch\":\"arm64\",\"base\":4294967296,\"size\":33554432,\"uuid\":\"\",\"path\":\"\\/"
    "opt\\/" IMAGE "\",\"name\":\"" IMAGE "\"},{\"size\":0,\"base\":0,\"uuid\":\"" UUID
    "\",\"name\":\"\\u0041\\ud83d\\ude00\"}]}\n",
};

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/fuzz_log", argv[1]);
    mkdir(path, 0777);
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        for (int mode = 0; mode < 8; mode++) {
            snprintf(path, sizeof path, "%s/fuzz_log/%zu-%d", argv[1], i, mode);
            FILE *file = fopen(path, "wb");
            if (file == NULL || fputc(mode, file) == EOF) return EXIT_FAILURE;
            if (fwrite(logs[i], 1, strlen(logs[i]), file) != strlen(logs[i]) || fclose(file) != 0) return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
