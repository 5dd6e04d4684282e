// SPDX-License-Identifier: MIT
// A library in C++ for tests/tool/crash.sh. It throws an exception that nobody catches.

namespace {

// Its destructor gives the function a landing pad, where the search for a handler must not end.
struct lock {
    ~lock() { is_locked = false; }
    static volatile bool is_locked;
};
volatile bool lock::is_locked = true;

} // namespace

extern "C" __attribute__((noinline)) void parse_setting(const int *setting) {
    if (setting == nullptr) throw 1;
}

extern "C" void throw_setting() {
    lock held;
    parse_setting(nullptr);
}
