/* SPDX-License-Identifier: MIT */
/* Templates, virtual functions, thunks, constructors of two kinds at one address, cold parts; for tests/symbolize/elf.sh. */
extern "C" int outside_2(int x);

namespace project {
struct Base {
    explicit Base(int x) : value(outside_2(x)) {}
    virtual ~Base();
    virtual int run(int x) { return outside_2(x) + value; }
    int value;
};
Base::~Base() { outside_2(value); }

struct Other {
    virtual ~Other() {}
    virtual int jump(int x) { return outside_2(x * 2); }
};

struct Both : Base, Other {
    explicit Both(int x);
    ~Both() override;
    int run(int x) override { return Base::run(x) + 1; }
    int jump(int x) override;
};
Both::Both(int x) : Base(x + 1) {}
Both::~Both() {}
int Both::jump(int x) {
    if (x == 42) throw x;
    return value + x;
}

template <int N, typename T> __attribute__((noinline)) T add(T x) {
    return static_cast<T>(outside_2(static_cast<int>(x)) + N);
}
} // namespace project

int (*caller(project::Base *b))(int) {
    static auto lambda = [](int x) { return project::add<1>(x) + static_cast<int>(project::add<2, long>(x)); };
    try {
        b->run(project::add<3, short>(4));
        static_cast<project::Both *>(b)->jump(42);
    } catch (int x) {
        outside_2(x);
    }
    return lambda;
}
