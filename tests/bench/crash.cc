// SPDX-License-Identifier: MIT
// What tests/bench/crash.sh measures in C++.
//
//     crash_cxx backward LIBRARIES   the installation of backward-cpp's handlers, with 400 libraries: "install NS"
//     crash_cxx throw REPORTS        a caught throw, without the kit and with it, in turn: "throw NS", "with NS"
#include <unspool/crash.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <vector>
#ifdef BENCH_BACKWARD
#include <backward.hpp>
#endif

static double now() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

__attribute__((noinline)) static int thrower(int depth) {
    if (depth > 0) return thrower(depth - 1) + 1;
    throw std::runtime_error("cannot open");
}

static double time_throws() {
    const int times = 20000;
    const double begin = now();
    for (int i = 0; i < times; i++) {
        try {
            thrower(5);
        } catch (const std::exception &) {}
    }
    return (now() - begin) / times;
}

static void install(const char *folder) {
    usp_crash_options options;
    usp_crash_options_init(&options);
    options.directory = folder;
    if (usp_crash_install(&options) != USP_OK) std::exit(1);
}

static int throws(const char *folder) {
    std::vector<double> without, with;
    for (int i = 0; i < 9; i++) {
        without.push_back(time_throws());
        install(folder);
        with.push_back(time_throws());
        usp_crash_uninstall();
    }
    std::sort(without.begin(), without.end());
    std::sort(with.begin(), with.end());
    std::printf("throw %.0f\nwith %.0f\n", without[4], with[4]);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    if (std::strcmp(argv[1], "throw") == 0) return throws(argv[2]);
    for (int i = 0; i < 400; i++) {
        if (dlopen((std::string(argv[2]) + "/" + std::to_string(i) + ".so").c_str(), RTLD_NOW) == nullptr) return 1;
    }
#ifdef BENCH_BACKWARD
    const double begin = now();
    static backward::SignalHandling handling;
    std::printf("install %.0f\n", now() - begin);
    return handling.loaded() ? 0 : 1;
#else
    return 77;
#endif
}
