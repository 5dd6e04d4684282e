/* SPDX-License-Identifier: MIT */
/* Tests demangling. Rust v0: names from RFC 2603's grammar and the examples of The rustc book, with meanings worked out
 * by hand (tests/demangle/demangle.sh compares thousands more with llvm-cxxfilt). C++: by the C++ runtime's library
 * where it is installed. test_swift.c tests Swift. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/demangle.h>

#include "lib/demangle/cxx_length.h"
#include "lib/demangle/demangle_simple.h"
#include "lib/demangle/rust_v0.h"
#include "lib/os/os.h"
#include "tests/support/suite.h"

struct mangled {
    const char *name, *full, *simple;
};

static const struct mangled rust_v0[] = {
    {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example", "mycrate::example"},
    {"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
    {"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y", "utf8_idents::საჭმელად_გემრიელი_სადილი",
     "utf8_idents::საჭმელად_გემრიელი_სადილი"},
    {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}",
     "cc::spawn::{closure#0}::{closure#0}"},
    {"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9rpositionNCNgNpB9_"
     "6memchr7memrchrs_0E0Bb_",
     "<core::slice::Iter<u8> as "
     "core::iter::iterator::Iterator>::rposition::<core::slice::memchr::memrchr::{closure#1}>::{closure#0}",
     "<core::slice::Iter as core::iter::iterator::Iterator>::rposition::{closure#0}"},
    {"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_ECs1iopQbuBiw2_3std",
     "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>", "alloc::alloc::box_free"},
    {"_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new", "<arrayvec::ArrayVec<u8, 123>>::new", "<arrayvec::ArrayVec>::new"},
    {"_RNvMC0INtC8arrayvec8ArrayVechKb1_E3new", "<arrayvec::ArrayVec<u8, true>>::new", "<arrayvec::ArrayVec>::new"},
    {"_RMC0INtC8arrayvec8ArrayVechKj7b_E", "<arrayvec::ArrayVec<u8, 123>>", "<arrayvec::ArrayVec>"},
    {"_RIC0Kb0_E", "::<false>", "_RIC0Kb0_E"},
    {"_RIC0Kc76_E", "::<'v'>", "_RIC0Kc76_E"},
    {"_RIC0Kca_E", "::<'\\n'>", "_RIC0Kca_E"},
    {"_RIC0Kc2202_E", "::<'\\u{2202}'>", "_RIC0Kc2202_E"},
    {"_RIC0Kc27_E", "::<'\\''>", "_RIC0Kc27_E"},
    {"_RIC0Kan7f_E", "::<-127>", "_RIC0Kan7f_E"},
    {"_RIC0Ky12345678901234567_E", "::<0x12345678901234567>", "_RIC0Ky12345678901234567_E"},
    {"_RIC0Ke616263_E", "::<{*\"abc\"}>", "_RIC0Ke616263_E"},
    {"_RIC0KRAj1_j2_EE", "::<{&[1, 2]}>", "_RIC0KRAj1_j2_EE"},
    {"_RIC0KTj1_EE", "::<{(1,)}>", "_RIC0KTj1_EE"},
    {"_RIC0KTEE", "::<{()}>", "_RIC0KTEE"},
    {"_RIC0KVNtINtNtC4core6option6OptionjE4NoneUE", "::<{core::option::Option::<usize>::None}>",
     "_RIC0KVNtINtNtC4core6option6OptionjE4NoneUE"},
    {"_RIC0KVNtINtNtC4core6option6OptionjE4SomeTj0_EE", "::<{core::option::Option::<usize>::Some(0)}>",
     "_RIC0KVNtINtNtC4core6option6OptionjE4SomeTj0_EE"},
    {"_RIC0KVNtC3foo3BarS1sRe616263_2chc78_5sliceRAh1_h2_h3_EEE",
     "::<{foo::Bar { s: \"abc\", ch: 'x', slice: &[1, 2, 3] }}>",
     "_RIC0KVNtC3foo3BarS1sRe616263_2chc78_5sliceRAh1_h2_h3_EEE"},
    {"_RINvC1a1bFG_RL0_hEuE", "a::b::<for<'a> fn(&'a u8)>", "a::b"},
    {"_RINvC1a1bFUKCvEuE", "a::b::<unsafe extern \"C\" fn(...)>", "a::b"},
    {"_RINvC1a1bFK5C_abiEzE", "a::b::<extern \"C-abi\" fn() -> !>", "a::b"},
    {"_RINvC1a1bDG_INtC1c2FnTRL0_hEEp6OutputuNtC1c4SendEL_E",
     "a::b::<dyn for<'a> c::Fn<(&'a u8,), Output = ()> + c::Send>", "a::b"},
    {"_RINvC1a1bTEThEThtEE", "a::b::<(), (u8,), (u8, u16)>", "a::b"},
    {"_RINvC1a1bASjj2_E", "a::b::<[[usize]; 2]>", "a::b"},
    {"_RNvXC1aNtC1b1TNtC1c1R1f", "<b::T as c::R>::f", "<b::T as c::R>::f"},
    {"_RNvYNtC1b1TNtC1c1R1f", "<b::T as c::R>::f", "<b::T as c::R>::f"},
    {"_RNvC1a1f.llvm.9D1C9369", "a::f (.llvm.9D1C9369)", "a::f"},
    {"_RNvC1a1fC1z", "a::f", "a::f"},
    {"_RC1a", "a", "a"},
    {"_RIC0KpE", "::<_>", "_RIC0KpE"},
    {"_RNSC1a4shim", "a::{shim:shim#0}", "a::{shim:shim#0}"},
    {"_RNCC1as0_1x", "a::{closure:x#2}", "a::{closure:x#2}"},
};

static const char *const not_rust_v0[] = {
    "_RIC0KRe61226_E", "_RINvC1a1bRLs_hE", "_R",         "_RNvC1a",       "_RNvC1a9f",  "_RNvB9_1f", "_R1NvC1a1f",
    "_RNvC1a1fX",      "_RINvC1a1bRL0_hE", "_RIC0Kb2_E", "_RIC0Kcd800_E", "_RIC0Kh00_E"};

START_TEST(rust_v0_names) {
    char text[512];
    const struct mangled *m = &rust_v0[_i];
    ck_assert_int_eq(uspi_rust_v0(m->name, strlen(m->name), false, text, sizeof text), (int)strlen(m->full));
    ck_assert_str_eq(text, m->full);
    int length = uspi_rust_v0(m->name, strlen(m->name), true, text, sizeof text);
    /* A name that consists of arguments only would become empty, so it stays as it is. */
    if (length != 0) ck_assert_str_eq(text, m->simple);
}
END_TEST

/* If the buffer is too small, at any size, there must be no result, and nothing may be written past it. */
START_TEST(rust_v0_room) {
    const struct mangled *m = &rust_v0[_i];
    char text[512];
    size_t needed = strlen(m->full) + 1;
    for (size_t capacity = 0; capacity < needed; capacity++) {
        memset(text, '#', sizeof text);
        ck_assert_int_eq(uspi_rust_v0(m->name, strlen(m->name), false, text, capacity), -1);
        ck_assert_int_eq(text[capacity], '#');
    }
}
END_TEST

START_TEST(rust_v0_refuses) {
    char text[512];
    const char *name = not_rust_v0[_i];
    ck_assert_int_eq(uspi_rust_v0(name, strlen(name), false, text, sizeof text), -1);
}
END_TEST

/* A damaged symbol table can cut a name anywhere. The demangler must demangle or refuse it, and must not read past its
 * end. */
START_TEST(rust_v0_cut) {
    const char *name = rust_v0[_i].name;
    char text[512];
    for (size_t n = 0; n < strlen(name); n++) {
        char *exact = malloc(n + 1);
        memcpy(exact, name, n);
        exact[n] = '\0';
        uspi_rust_v0(exact, n, false, text, sizeof text);
        free(exact);
    }
}
END_TEST

/* A hostile name could keep the demangler busy for ever. Names as deep as they are long, and names that double at every
 * step, must end soon. */
START_TEST(rust_v0_is_bounded) {
    static char name[20001];
    static char text[65536];
    memset(name, 'R', sizeof name - 1);
    memcpy(name, "_RIC1a", 6);
    ck_assert_int_eq(uspi_rust_v0(name, sizeof name - 1, false, text, sizeof text), -1);
    memset(name + 6, 'S', sizeof name - 7);
    ck_assert_int_eq(uspi_rust_v0(name, sizeof name - 1, false, text, sizeof text), -1);
    /* Each tuple contains the one before it twice. */
    char *const end = name + sizeof name, *at = name + snprintf(name, sizeof name, "_RIC1aTuuE");
    size_t before = 4; /* of the first tuple, after "_R" */
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 60; i++) {
        size_t here = (size_t)(at - name) - 2, n = before - 1;
        char reference[8] = {'B', digits[n / 62], digits[n % 62], '_', '\0'};
        at += snprintf(at, (size_t)(end - at), "T%s%sE", reference, reference);
        before = here;
    }
    snprintf(at, (size_t)(end - at), "E");
    ck_assert_int_eq(uspi_rust_v0(name, strlen(name), false, text, sizeof text), -1);
    /* Without output nothing grows. */
    ck_assert_int_eq(uspi_rust_v0(name, strlen(name), true, text, sizeof text), 1);
}
END_TEST

START_TEST(languages) {
    static const struct {
        const char *name;
        uint32_t mangling;
    } cases[] = {
        {"main", USP_MANGLING_NONE},
        {"", USP_MANGLING_NONE},
        {"_Zero", USP_MANGLING_CXX},
        {"_Z1fv", USP_MANGLING_CXX},
        {"__Z1fv_block_invoke", USP_MANGLING_CXX},
        {"_RNvC1a1f", USP_MANGLING_RUST_V0},
        {"_R1", USP_MANGLING_NONE},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", USP_MANGLING_RUST_LEGACY},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123", USP_MANGLING_RUST_LEGACY},
        {"_ZN4core3fmt9Formatter3pad17h0000000000000000E", USP_MANGLING_CXX},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdxfE", USP_MANGLING_CXX},
        {"$s4main3fooyyF", USP_MANGLING_SWIFT},
        {"_$s4main3fooyyF", USP_MANGLING_SWIFT},
        {"_T04main3fooyyF", USP_MANGLING_SWIFT},
        {"$S4main3fooyyF", USP_MANGLING_SWIFT},
        {"$e4main3fooyyF", USP_MANGLING_SWIFT},
        {"_TF4main3fooFT_T_", USP_MANGLING_NONE},
        {"_TtC4main1A", USP_MANGLING_SWIFT},
        {"_TtGCs23_ContiguousArrayStorageSi_", USP_MANGLING_SWIFT},
        {"@__swiftmacro_4main3foo1mfMf_", USP_MANGLING_SWIFT},
        {"DYLD-STUB$$_ZN1A1fEv", USP_MANGLING_CXX},
        {"DYLD-STUB$$$s4main3fooyyF", USP_MANGLING_SWIFT},
        {"DYLD-STUB$$malloc", USP_MANGLING_NONE},
        {"__AArch64ADRPThunk__ZN1A1fEv", USP_MANGLING_CXX},
        {"___ZN1A1fEv_veneer", USP_MANGLING_CXX},
        {"__malloc_veneer", USP_MANGLING_NONE},
        {"___veneer", USP_MANGLING_NONE},
        {"_TIFFmalloc", USP_MANGLING_NONE},
        {"_TIFFSwab16BitData", USP_MANGLING_NONE},
        {"_T", USP_MANGLING_NONE},
        {"$4main", USP_MANGLING_NONE},
        {"-[_TtC4main1A bar]", USP_MANGLING_SWIFT},
        {"+[_TtC4main1A(Category) bar:]", USP_MANGLING_SWIFT},
        {"-[ViewController bar]", USP_MANGLING_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(usp_mangling_of(cases[i].name) == cases[i].mangling, "%s", cases[i].name);
    }
    ck_assert_uint_eq(usp_mangling_of(NULL), USP_MANGLING_NONE);
}
END_TEST

static struct usp_demangler *demangler_for(uint32_t mode) {
    struct usp_demangler *demangler;
    ck_assert_int_eq(usp_demangler_create(mode, &demangler), USP_OK);
    return demangler;
}

/* Shortens names as the C++ runtime demangles them. */
START_TEST(simplified) {
    static const char *const cases[][2] = {
        {"f()", "f"},
        {"std::vector<int, std::allocator<int> > f<int>(int, char*) const [clone .cold]", "f"},
        {"ns::A<(ns::E)1>::run(std::function<void (int)>) &&", "ns::A::run"},
        {"(anonymous namespace)::f(int)", "(anonymous namespace)::f"},
        {"f(int)::{lambda(int)#1}::operator()(int) const", "f::{lambda(int)#1}::operator()"},
        {"A::f() const::B::g()", "A::f::B::g"},
        {"operator<<(std::ostream&, A const&)", "operator<<"},
        {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<"},
        {"A<int>::operator->() const", "A::operator->"},
        {"A::operator int*() const", "A::operator int*"},
        {"A::operator std::vector<int>()", "A::operator std::vector<int>"},
        {"operator new(unsigned long)", "operator new"},
        {"operator\"\" _km(long double)", "operator\"\" _km"},
        {"non-virtual thunk to B<int>::f(int)", "non-virtual thunk to B::f"},
        {"vtable for std::vector<int>", "vtable for std::vector"},
        {"int (*pick<int>(char))(int)", "pick"},
        {"decltype (x.y()) g<X>(X)", "g"},
        {"std::string[abi:cxx11] h[abi:cxx11]<int>()", "h[abi:cxx11]"},
        {"data", "data"},
        {"", ""},
        {"f<", "f"},
        {"(((", ""},
        {">>)", ">>)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s", cases[i][0]);
        uspi_demangle_simplify(name);
        ck_assert_str_eq(name, cases[i][1]);
    }
}
END_TEST

static bool has_cxx(void) {
    static const char *const libraries[] = {"", "libstdc++.so.6", "libc++abi.so.1", NULL};
    uspi_os_function function;
    return uspi_os_find_function(libraries, "__cxa_demangle", &function);
}

/* Makes a C++ name: a beginning, `levels` times a letter or word, an end, as often a letter. */
static const char *nested_cxx(const char *const parts[4], unsigned levels) {
    static char name[8192];
    size_t length = (size_t)snprintf(name, sizeof name, "%s", parts[0]);
    for (unsigned i = 0; i < levels; i++)
        length += (size_t)snprintf(name + length, sizeof name - length, "%s", parts[1]);
    length += (size_t)snprintf(name + length, sizeof name - length, "%s", parts[2]);
    for (unsigned i = 0; i < levels; i++)
        length += (size_t)snprintf(name + length, sizeof name - length, "%s", parts[3]);
    return name;
}

/* C++ runtimes recurse for each level, which must not use up a thread's stack. */
START_TEST(nested_cxx_names) {
    static const char *const kinds[][4] = {
        {"_Z1f", "P", "i", ""},    {"_Z1f", "A1_", "i", ""},  {"_Z1f", "M1a", "i", ""},
        {"_Z1f", "1aI", "i", "E"}, {"_Z1f", "FvP", "i", "E"}, {"_Z1f", "KP", "i", ""},
    };
    if (!has_cxx()) return;
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *name = nested_cxx(kinds[i], 40);
        ck_assert_str_ne(usp_demangle(demangler, name), name);
        name = nested_cxx(kinds[i], 300);
        ck_assert_str_eq(usp_demangle(demangler, name), name);
    }
    static const char *const qualifiers[4] = {"_Z1f", "K", "i", ""};
    const char *name = nested_cxx(qualifiers, 1000);
    ck_assert_str_eq(usp_demangle(demangler, name), name);
    usp_demangler_free(demangler);
}
END_TEST

/* Returns whether names are demangled by LLVM's runtime. */
static bool is_of_llvm(void) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    const bool is_llvm = strcmp(usp_demangle(demangler, "_Z1fv.cold"), "f() (.cold)") == 0;
    usp_demangler_free(demangler);
    return is_llvm;
}

/* Returns how LLVM's runtime writes a name that GNU's writes like this. */
static const char *by_llvm(const char *full) {
    static const char *const different[][2] = {
        {"std::vector<int, std::allocator<int> >::push_back(int const&)",
         "std::vector<int, std::allocator<int>>::push_back(int const&)"},
        {"core::fmt::Formatter::pad::h0123456789abcdef [clone .llvm.123]",
         "core::fmt::Formatter::pad::h0123456789abcdef (.llvm.123)"},
        {"f() [clone .cold]", "f() (.cold)"},
        {"A::table [clone .lto_priv.0]", "A::table (.lto_priv.0)"},
        {"f()::table [clone .2]", "f()::table (.2)"},
        {"A::A<int>(int)", "A::A[abi:tag]<int>(int)"},
        {"A::A<int>(int, int)", "A::A[abi:tag][abi:other]<int>(int, int)"},
    };
    for (size_t i = 0; i < sizeof different / sizeof *different; i++) {
        if (strcmp(different[i][0], full) == 0) return different[i][1];
    }
    return full;
}

START_TEST(cxx_and_old_rust) {
    static const struct mangled cases[] = {
        {"_Z1fv", "f()", "f"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)",
         "std::vector::push_back"},
        {"_ZN12_GLOBAL__N_11gEi", "(anonymous namespace)::g(int)", "(anonymous namespace)::g"},
        {"_Z1fv@plt", "f()@plt", "f@plt"},
        {"_ZN1A1fEv@@VERS_1", "A::f()@@VERS_1", "A::f@@VERS_1"},
        {"__Z1fv", "f()", "f"},
        {"__Z1fi_block_invoke", "invocation function for block in f(int)", "invocation function for block in f(int)"},
        {"___Z1fi_block_invoke_2", "invocation function for block in f(int)",
         "invocation function for block in f(int)"},
        {"____Z1fi_block_invoke_2", "invocation function for block in f(int)",
         "invocation function for block in f(int)"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad::h0123456789abcdef",
         "core::fmt::Formatter::pad"},
        {"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
         "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop::h0123456789abcdef",
         "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
        {"_ZN4core9panicking5panic28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
         "core::panicking::panic::{{closure}}::h0123456789abcdef", "core::panicking::panic::{{closure}}"},
        {"_ZN30_$RF$T$C$$LP$$BP$$SP$$RP$$uZZ$1a17h0123456789abcdefE", "&T,(*@)$uZZ$::a::h0123456789abcdef",
         "&T,(*@)$uZZ$::a"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123",
         "core::fmt::Formatter::pad::h0123456789abcdef [clone .llvm.123]", "core::fmt::Formatter::pad"},
        /* Names of stubs that linkers make to reach a function. */
        {"DYLD-STUB$$_ZN1A1fEv", "DYLD-STUB$$A::f()", "DYLD-STUB$$A::f"},
        {"__AArch64ADRPThunk__ZN1A1fEv", "__AArch64ADRPThunk_A::f()", "__AArch64ADRPThunk_A::f"},
        {"__Thumbv7ABSLongThunk__Z1fv", "__Thumbv7ABSLongThunk_f()", "__Thumbv7ABSLongThunk_f"},
        {"___ZN1A1fEv_veneer", "__A::f()_veneer", "__A::f_veneer"},
        {"___Z1fv_from_thumb", "__f()_from_thumb", "__f_from_thumb"},
        {"DYLD-STUB$$_Zero", "DYLD-STUB$$_Zero", "DYLD-STUB$$_Zero"},
        /* Names of copies of functions and of data. */
        {"_Z1fv.cold", "f() [clone .cold]", "f"},
        {"_ZN1A5tableE.lto_priv.0", "A::table [clone .lto_priv.0]", "A::table"},
        {"_ZZ1fvE5table.2", "f()::table [clone .2]", "f::table"},
        /* ABI tags of a constructor template, and letters that only look like ABI tags. */
        {"_ZN1AC2B3tagIiEET_", "A::A<int>(int)", "A::A"},
        {"_ZN1AC1B3tagB5otherIiEET_i", "A::A<int>(int, int)", "A::A"},
        {"_ZN1A6C1B1xIIiEEvT_", "void A::C1B1xI<int>(int)", "A::C1B1xI"},
        {"_Zero", "_Zero", "_Zero"},
        {"_Z", "_Z", "_Z"},
    };
    if (!has_cxx()) {
        puts("no C++ runtime here: left out");
        return;
    }
    const bool is_llvm = is_of_llvm();
    struct usp_demangler *full = demangler_for(USP_DEMANGLE_FULL), *simple = demangler_for(USP_DEMANGLE_SIMPLE),
                         *no = demangler_for(USP_DEMANGLE_NO);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(usp_demangle(full, cases[i].name), is_llvm ? by_llvm(cases[i].full) : cases[i].full);
        ck_assert_str_eq(usp_demangle(simple, cases[i].name), cases[i].simple);
        ck_assert_ptr_eq(usp_demangle(no, cases[i].name), cases[i].name);
    }
    usp_demangler_free(full);
    usp_demangler_free(simple);
    usp_demangler_free(no);
}
END_TEST

START_TEST(kotlin) {
    static const struct mangled cases[] = {
        {"kfun:#main(){}", "main()", "main"},
        {"kfun:kotlin.collections.ArrayList#add(1:0){}kotlin.Boolean",
         "kotlin.collections.ArrayList.add(1:0): kotlin.Boolean", "kotlin.collections.ArrayList.add"},
        {"kfun:a.B#f(kotlin.Int;kotlin.Function1<kotlin.Int,kotlin.Unit>){0\302\247<kotlin.Any?>}kotlin.Unit",
         "a.B.f(kotlin.Int, kotlin.Function1<kotlin.Int,kotlin.Unit>): kotlin.Unit", "a.B.f"},
        {"kfun:a.B#<get-size>(){}kotlin.Int", "a.B.<get-size>(): kotlin.Int", "a.B.<get-size>"},
        {"kfun:kotlin.Throwable#<init>(kotlin.String?){}", "kotlin.Throwable.<init>(kotlin.String?)",
         "kotlin.Throwable.<init>"},
        {"kfun:kotlin.text#trim__at__kotlin.CharSequence(){}kotlin.CharSequence",
         "kotlin.text.trim(kotlin.CharSequence): kotlin.CharSequence", "kotlin.text.trim"},
        {"kfun:a#f@kotlin.String(kotlin.Int){}", "a.f(kotlin.String, kotlin.Int)", "a.f"},
        {"kfun:kotlin.Any#toString(){}kotlin.String-trampoline", "kotlin.Any.toString(): kotlin.String",
         "kotlin.Any.toString"},
        {"kfun:a.b.helper#internal", "a.b.helper", "a.b.helper"},
        {"kfun:a.b.helper#internal.12", "a.b.helper", "a.b.helper"},
        {"kfun:a.B.$f$lambda$0$FUNCTION_REFERENCE$1.$<bridge-UNN>invoke(kotlin.Any?){}#internal",
         "a.B.$f$lambda$0$FUNCTION_REFERENCE$1.$<bridge-UNN>invoke(kotlin.Any?)",
         "a.B.$f$lambda$0$FUNCTION_REFERENCE$1.$<bridge-UNN>invoke"},
        {"kfun:kotlin.collections#set__at__kotlin.collections.MutableMap<0:0,0:1>(0:0;0:1){0\302\247<kotlin.Any?>;1"
         "\302\247<kotlin.Any?>}",
         "kotlin.collections.set(kotlin.collections.MutableMap<0:0,0:1>, 0:0, 0:1)", "kotlin.collections.set"},
        {"kfun:a.L#$<bridge-NNU>invoke(kotlin.Any?;kotlin.Int){}b.C<kotlin.Any?>(kotlin.Any?;kotlin.Any?){}kotlin.Any?",
         "a.L.$<bridge-NNU>invoke(kotlin.Any?, kotlin.Int): b.C<kotlin.Any?>", "a.L.$<bridge-NNU>invoke"},
        {"kfun:a.B.$imp:handleDisplayLinkTick#internal", "a.B.$imp:handleDisplayLinkTick",
         "a.B.$imp:handleDisplayLinkTick"},
        {"objc2kotlin_kfun:a.B#greet(kotlin.Int){}kotlin.String", "objc2kotlin a.B.greet(kotlin.Int): kotlin.String",
         "objc2kotlin a.B.greet"},
        {"_objc2kotlin_kfun:a.B#<init>(){}", "_objc2kotlin_kfun:a.B#<init>(){}", "_objc2kotlin_kfun:a.B#<init>(){}"},
        {"objc2kotlin_virtual_kfun:Foo#foo(){}kotlin.Int", "objc2kotlin_virtual Foo.foo(): kotlin.Int",
         "objc2kotlin_virtual Foo.foo"},
        {"kotlin2objc_kfun:a.D#call(kotlin.Int;kotlin.Any?){}kotlin.Any?",
         "kotlin2objc a.D.call(kotlin.Int, kotlin.Any?): kotlin.Any?", "kotlin2objc a.D.call"},
        /* These are not understood, or are other names. */
        {"objc2kotlin_kfun:a#", "objc2kotlin_kfun:a#", "objc2kotlin_kfun:a#"},
        {"objc2kotlin_kclass:E.A", "objc2kotlin_kclass:E.A", "objc2kotlin_kclass:E.A"},
        {"kfun:a#f(kotlin.Int", "kfun:a#f(kotlin.Int", "kfun:a#f(kotlin.Int"},
        {"kfun:a#", "kfun:a#", "kfun:a#"},
        {"kfun:", "kfun:", "kfun:"},
        {"kfunction", "kfunction", "kfunction"},
        {"kclass:a.B", "kclass:a.B", "kclass:a.B"},
    };
    struct usp_demangler *full = demangler_for(USP_DEMANGLE_FULL), *simple = demangler_for(USP_DEMANGLE_SIMPLE),
                         *brief = demangler_for(USP_DEMANGLE_SHORT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(usp_demangle(full, cases[i].name), cases[i].full);
        ck_assert_str_eq(usp_demangle(simple, cases[i].name), cases[i].simple);
        ck_assert_str_eq(usp_demangle(brief, cases[i].name), cases[i].simple);
    }
    ck_assert_uint_eq(usp_mangling_of("kfun:a#f(){}"), USP_MANGLING_KOTLIN);
    ck_assert_uint_eq(usp_mangling_of("kfun:"), USP_MANGLING_NONE);
    ck_assert_uint_eq(usp_mangling_of("objc2kotlin_kfun:a#f(){}"), USP_MANGLING_KOTLIN);
    usp_demangler_free(full);
    usp_demangler_free(simple);
    usp_demangler_free(brief);
}
END_TEST

/* Names with many references to small parts are demangled, those of hash tables for instance. */
START_TEST(cxx_with_many_references) {
    static const char name[] =
        "_ZNSt10_HashtableINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_S5_ESaIS8_ENSt8__detail10_"
        "Select1stESt8equal_toIS5_ESt4hashIS5_ENSA_18_Mod_range_hashingENSA_20_Default_ranged_hashENSA_20_Prime_rehash_"
        "policyENSA_17_Hashtable_traitsILb1ELb0ELb1EEEE10_M_emplaceIJRA2_KcRS5_S8_S8_S5_S5_S8_S5_S8_S5_S8_S5_S8_S5_S8_"
        "S5_S8_S5_S8_S5_S8_S5_S8_EEES6_INSA_14_Node_iteratorIS8_Lb0ELb1EEEbESt17integral_constantIbLb1EEDpOT_";
    if (!has_cxx()) return;
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_SIMPLE);
    ck_assert_str_eq(usp_demangle(demangler, name), "std::_Hashtable::_M_emplace");
    usp_demangler_free(demangler);
}
END_TEST

/* The bound is at least the true length, and not much more. Constructs that are not known are refused. */
START_TEST(cxx_lengths) {
    static const struct {
        const char *name;
        uint64_t length; /* of the demangled name */
    } cases[] = {
        {"_Z1fv", 3},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", 57},
        {"_ZN1AC2B3tagIiEET_", 23},
        {"_ZZ1fvENKUlT_E_clIiEEDaS_", 44},
        {"_Z1fIJiiiEEvDpT_", 35},
        {"_Z1gIiENSt9enable_ifIXsr11is_integralIT_EE5valueEiE4typeES0_", 62},
        {"_ZNK1AcvbEv.cold", 32},
        {"_ZThn16_N1A1fEv", 27},
    };
    static const char *const refused[] = {"_Z",       "_Z1",     "_Z9f",           "_ZN1AE1", "_Z1fS_",
                                          "_ZN1AS_E", "_Z1fIT_", "_ZN1AcvT_IiEEv", "f"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bound = 0;
        ck_assert_msg(uspi_cxx_length(cases[i].name, strlen(cases[i].name), false, &bound), "%s", cases[i].name);
        ck_assert_uint_ge(bound, cases[i].length);
        ck_assert_uint_le(bound, 60 * cases[i].length);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        uint64_t bound;
        ck_assert_msg(!uspi_cxx_length(refused[i], strlen(refused[i]), false, &bound), "%s", refused[i]);
    }
    /* Every level is twice as long as the one before it. */
    static const char doubling[] =
        "_Z1f1AIiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_ES_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_E";
    uint64_t bound;
    ck_assert(uspi_cxx_length(doubling, sizeof doubling - 1, false, &bound));
    ck_assert_uint_ge(bound, 1000);
}
END_TEST

/* Each parameter is a template of the one before it, twice. 60 of them would fill any memory; eight are harmless. */
START_TEST(cxx_that_doubles) {
    if (!has_cxx()) return;
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    for (int levels = 8; levels <= 60; levels += 52) {
        static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char name[1024];
        int at = snprintf(name, sizeof name, "_Z1f1AIiE");
        for (int i = 0; i < levels; i++) {
            char number[4] = {digits[i % 36], '_', '\0'};
            if (i >= 36) snprintf(number, sizeof number, "1%c_", digits[i % 36]);
            at += snprintf(name + at, sizeof name - (size_t)at, "S_IS%sS%sE", number, number);
        }
        const char *text = usp_demangle(demangler, name);
        if (levels == 8) {
            ck_assert_uint_gt(strlen(text), 1000);
        } else {
            ck_assert_ptr_eq(text, name);
        }
    }
    usp_demangler_free(demangler);
}
END_TEST

/* A function's parameters repeat "T_" 2048 times, in parts that a template's parameter repeats later. GNU's demangler
 * then takes the argument of that template, which has 2048 names. */
START_TEST(cxx_with_late_arguments) {
    static const char name[] =
        "_ZZ1fIiEvT_PFvS0_S0_EPFvS2_S2_EPFvS4_S4_EPFvS6_S6_EPFvS8_S8_EPFvSA_SA_EPFvSC_SC_EPFvSE_SE_EPFvSG_SG_EPFvSI_SI_"
        "E"
        "PFvSK_SK_EP1xPFvSO_SO_EPFvSQ_SQ_EPFvSS_SS_EPFvSU_SU_EPFvSW_SW_EPFvSY_SY_EPFvS10_S10_EPFvS12_S12_EPFvS14_S14_E"
        "PFvS16_S16_EPFvS18_S18_EE1gIS1A_EvSM_";
    uint64_t bound, late;
    ck_assert(uspi_cxx_length(name, sizeof name - 1, false, &bound));
    ck_assert(uspi_cxx_length(name, sizeof name - 1, true, &late));
    ck_assert_uint_lt(bound, UINT64_C(1) << 22);
    ck_assert_uint_ge(late, UINT64_C(2048) * 2048);
    if (!has_cxx()) return;
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    ck_assert_uint_le(strlen(usp_demangle(demangler, name)), UINT64_C(1) << 22);
    usp_demangler_free(demangler);
}
END_TEST

/* Equal names must give the same pointer, also names that cannot be demangled, however many other names there are. */
START_TEST(answers_are_kept) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    const char unknown[] = "$sgarbage";
    const char *first = usp_demangle(demangler, "$s4main3fooyyF");
    ck_assert_str_eq(first, "main.foo() -> ()");
    ck_assert_ptr_eq(usp_demangle(demangler, unknown), unknown);
    for (int i = 0; i < 1000; i++) {
        char copy[32], other[32];
        snprintf(copy, sizeof copy, "%s", "$s4main3fooyyF");
        snprintf(other, sizeof other, "_RNvC1a%dn%0*d", 1 + i % 5, i % 5 + 1, 0);
        ck_assert_ptr_eq(usp_demangle(demangler, copy), first);
        ck_assert_ptr_eq(usp_demangle(demangler, unknown), unknown);
        usp_demangle(demangler, other);
    }
    usp_demangler_free(demangler);
}
END_TEST

START_TEST(arguments) {
    struct usp_demangler *demangler;
    ck_assert_int_eq(usp_demangler_create(4, &demangler), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(demangler);
    ck_assert_int_eq(usp_demangler_create(0, NULL), USP_ERROR_ARGUMENT);
    const char name[] = "_RNvC1a1f";
    ck_assert_ptr_eq(usp_demangle(NULL, name), name);
    demangler = demangler_for(USP_DEMANGLE_FULL);
    ck_assert_ptr_null(usp_demangle(demangler, NULL));
    ck_assert_str_eq(usp_demangle(demangler, name), "a::f");
    /* Longer than the names that are passed to the C++ demangler. */
    char *longer = malloc(5001);
    memset(longer, 'a', 5000);
    longer[5000] = '\0';
    memcpy(longer, "_RNvC1a", 7);
    ck_assert_ptr_eq(usp_demangle(demangler, longer), longer);
    free(longer);
    usp_demangler_free(demangler);
    usp_demangler_free(NULL);
}
END_TEST

#define NAMES 500

static void *demangle_many(void *argument) {
    struct usp_demangler *demangler = argument;
    for (int i = 0; i < NAMES * 4; i++) {
        char name[32], expected[32];
        snprintf(name, sizeof name, "_RNvC1a4n%03d", i % NAMES);
        snprintf(expected, sizeof expected, "a::n%03d", i % NAMES);
        const char *answer = usp_demangle(demangler, name);
        if (strcmp(answer, expected) != 0) return demangler;
    }
    return NULL;
}

START_TEST(many_threads) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, demangle_many, demangler), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    usp_demangler_free(demangler);
}
END_TEST

int main(void) {
    TCase *rust = tcase_create("Rust v0"), *all = tcase_create("all");
    const int names = ELEMENTS(rust_v0);
    add_loop_tests(rust, 0, names, rust_v0_names, rust_v0_room, rust_v0_cut);
    tcase_add_loop_test(rust, rust_v0_refuses, 0, ELEMENTS(not_rust_v0));
    tcase_add_test(rust, rust_v0_is_bounded);
    add_tests(all, languages, simplified, nested_cxx_names, cxx_and_old_rust, kotlin, cxx_with_many_references,
              cxx_lengths, cxx_with_late_arguments, cxx_that_doubles, answers_are_kept, arguments, many_threads);
    return run_suite("demangle", rust, all);
}
