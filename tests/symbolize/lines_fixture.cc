// SPDX-License-Identifier: MIT
// The same as lines_fixture.c for what C++ adds: members, templates, namespaces without a name, lambdas, local classes,
// constructors. It uses nothing of any library.
#include "lines_fixture.h"

volatile int sink;

namespace {
struct Hidden {
    int value;
    explicit Hidden(int a) : value(a) { sink = a; }
    int get(int b) const { return value * b; }
};
int hidden_helper(int a) { return Hidden(a).get(3); }
} // namespace

namespace outer {
namespace inner {
template <typename T> struct Box {
    T held;
    T grown(T by) {
        held += by;
        return held;
    }
    __attribute__((noinline)) T shrunk(T by) {
        held -= by;
        sink = static_cast<int>(held);
        return held;
    }
};

static int file_local(int a) {
    auto twice = [a](int b) { return a + b * header_twice(b); };
    struct Local {
        int each(int c) { return c * 5 + sink; }
    } local;
    return twice(a) + local.each(a);
}

__attribute__((noinline)) int visible(int a) {
    Box<int> ints{a};
    Box<long> longs{a};
    return ints.grown(3) + static_cast<int>(longs.shrunk(2)) + file_local(a);
}
} // namespace inner
} // namespace outer

struct Base {
    virtual ~Base() {}
    virtual int run(int a) { return a; }
};

struct Derived : Base {
    int run(int a) override { return outer::inner::visible(a) + hidden_helper(a); }
};

extern "C" void __cxa_pure_virtual() {}
void operator delete(void *) noexcept {}
void operator delete(void *, unsigned long) noexcept {}

__attribute__((noinline)) int call(Base &base, int a) { return base.run(a); }

extern "C" int entry(int a, int b) {
    Derived derived;
    return other_unit(call(derived, header_mixed(a, b)));
}
