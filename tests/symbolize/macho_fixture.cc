// SPDX-License-Identifier: MIT
// What C++ adds: names that are mangled, members, constructors with two names at one address, templates that are weak.
// Without headers; tests/symbolize/macho.sh links it.
extern "C" int outside_2(int x);

#define NOINLINE __attribute__((noinline))

namespace space {
template <int n> NOINLINE int templated(int x) { return outside_2(x * n) + n; }

template <int n> struct sum_of {
  static int of(int x) { return templated<n>(x) + sum_of<n - 1>::of(x); }
};
template <> struct sum_of<0> {
  static int of(int x) { return x; }
};

class base {
public:
  NOINLINE explicit base(int x) : value(outside_2(x)) {}
  virtual int overridden(int x);
  virtual ~base();
  int value;
};

NOINLINE int base::overridden(int x) { return outside_2(x) + value; }
NOINLINE base::~base() { outside_2(value); }

class derived : public base {
public:
  explicit derived(int x);
  int overridden(int x) override;
  ~derived() override;
};
NOINLINE derived::derived(int x) : base(x + 1) { outside_2(x); }
NOINLINE int derived::overridden(int x) { return base::overridden(x) * 3; }
NOINLINE derived::~derived() { outside_2(1); }

namespace {
NOINLINE int anonymous(int x) { return outside_2(x) - 5; }
} // namespace
} // namespace space

void operator delete(void *) noexcept {}
void operator delete(void *, __SIZE_TYPE__) noexcept {}
extern "C" int __cxa_atexit() { return 0; }
extern "C" NOINLINE void __cxa_pure_virtual() {}

extern "C" int cxx_main(int x) {
  space::derived derived(x);
  return derived.overridden(x) + space::sum_of<40>::of(x) + space::anonymous(x);
}
