// SPDX-License-Identifier: MIT
// For tests/crash/kit.sh: a library that throws C++ exceptions which no caller catches.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace app {
struct BadSettings : std::runtime_error {
    using std::runtime_error::runtime_error;
};
} // namespace app

// Its what() is code of the program, which the kit does not run.
struct Other : std::exception {
    const char *what() const noexcept override { abort(); }
};

static std::string repeat(const std::string &text, int times) {
    std::string all;
    while (times-- > 0) all += text;
    return all;
}

static void rethrow() {
    try {
        throw app::BadSettings("once more: /home/anna/cart");
    } catch (...) {
        throw;
    }
}

extern "C" void throw_uncaught(const char *which) {
    if (strcmp(which, "standard") == 0) throw std::logic_error("cannot open settings");
    if (strcmp(which, "derived") == 0) throw app::BadSettings(repeat("\u00e9", 2500));
    if (strcmp(which, "rethrown") == 0) rethrow();
    if (strcmp(which, "other") == 0) throw Other();
    if (strcmp(which, "number") == 0) throw 7;
    std::terminate();
}
