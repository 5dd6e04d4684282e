# SPDX-License-Identifier: MIT
# Compiler and linker flags, used if the compiler or linker accepts them.

# USP_TRY_CFLAG(VARIABLE, FLAG): adds FLAG to VARIABLE if the compiler accepts it without a warning.
AC_DEFUN([USP_TRY_CFLAG], [
  AS_VAR_PUSHDEF([cache], [usp_cv_cflag_$2])dnl
  AC_CACHE_CHECK([whether $CC understands $2], [cache],
    [usp_saved_CFLAGS=$CFLAGS
     CFLAGS="$CFLAGS -Werror $2"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
     CFLAGS=$usp_saved_CFLAGS])
  AS_VAR_IF([cache], [yes], [$1="$$1 $2"])
  AS_VAR_POPDEF([cache])dnl
])

AC_DEFUN([USP_WARNINGS], [
  WARNING_CFLAGS=
  m4_foreach_w([flag], [-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Wundef -Wwrite-strings], [USP_TRY_CFLAG([WARNING_CFLAGS], flag)])
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [a warning ends the build (for developers)])])
  AS_IF([test "$enable_werror" = yes], [WARNING_CFLAGS="$WARNING_CFLAGS -Werror"])
  AC_SUBST([WARNING_CFLAGS])
])

# The library's own frames must have records, because a walk starts in them.
AC_DEFUN([USP_FRAME_POINTERS], [
  FRAME_CFLAGS=
  m4_foreach_w([flag], [-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer],
    [USP_TRY_CFLAG([FRAME_CFLAGS], flag)])
  AC_SUBST([FRAME_CFLAGS])
])

# USP_VERSION_SCRIPT(MAP): exports only public names, each under the release that introduced it. The library is never
# unloaded, because its signal handler may be running. Its symbols are bound when it is loaded, because the loader needs
# more stack than a signal handler may use. Its own calls are bound when it is linked: a program's function of the same
# name never takes the place of one that the library relies on, and each call is direct.
AC_DEFUN([USP_VERSION_SCRIPT], [
  usp_version_flags='-Wl,-z,nodelete -Wl,-z,now -Wl,-Bsymbolic-functions'
  AC_CACHE_CHECK([whether the linker takes a version script], [usp_cv_version_script],
    [echo "PROBE_1 { global: probe; local: *; };" > conftest.map
     usp_saved_LDFLAGS=$LDFLAGS
     LDFLAGS="$LDFLAGS -shared -fPIC -Wl,--version-script=conftest.map $usp_version_flags"
     AC_LINK_IFELSE([AC_LANG_SOURCE([int probe(void); int probe(void) { return 0; }])],
       [usp_cv_version_script=yes], [usp_cv_version_script=no])
     LDFLAGS=$usp_saved_LDFLAGS
     rm -f conftest.map])
  VERSION_LDFLAGS=
  AS_IF([test $usp_cv_version_script = yes],
    [VERSION_LDFLAGS="-Wl,--version-script=$1 $usp_version_flags"])
  AC_SUBST([VERSION_LDFLAGS])
  AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test $usp_cv_version_script = yes])
])

# USP_SYMBOL_PREFIX: sets what --with-symbol-prefix changes: SYMBOL_PREFIX itself, the header that all files are compiled
# with, the library's map, and a part of the shared library's name, because the loader loads one of two libraries that
# have the same name.
AC_DEFUN([USP_SYMBOL_PREFIX], [
  AC_ARG_WITH([symbol-prefix], [AS_HELP_STRING([--with-symbol-prefix=NAME],
    [put NAME before every name of the library, for a copy in a program that may contain another one
     (doc/embedding.md)])], [], [with_symbol_prefix=])
  AS_CASE([$with_symbol_prefix],
    [no], [with_symbol_prefix=],
    [yes | [[!A-Za-z_]]* | *[[!A-Za-z0-9_]]*],
      [AC_MSG_ERROR([--with-symbol-prefix: "$with_symbol_prefix" cannot begin a name in C])])
  SYMBOL_PREFIX=$with_symbol_prefix
  SYMBOL_CPPFLAGS= SYMBOL_LDFLAGS=
  SYMBOL_MAP='$(srcdir)/lib/unspool.map'
  AS_IF([test -n "$SYMBOL_PREFIX"],
    [SYMBOL_CPPFLAGS='-include lib/prefix/names.h'
     SYMBOL_LDFLAGS="-release $SYMBOL_PREFIX"
     SYMBOL_MAP=lib/prefix/unspool.map])
  AC_SUBST([SYMBOL_PREFIX])
  AC_SUBST([SYMBOL_CPPFLAGS])
  AC_SUBST([SYMBOL_LDFLAGS])
  AC_SUBST([SYMBOL_MAP])
  AM_CONDITIONAL([PREFIXED], [test -n "$SYMBOL_PREFIX"])
])

# USP_WRAP: sets WRAP_LDFLAGS, with which a program's allocations can fail (tests/support/failing_alloc.h). Apple's
# linker has no such flags.
AC_DEFUN([USP_WRAP], [
  AC_CACHE_CHECK([whether the linker wraps functions], [usp_cv_wrap],
    [usp_saved_LDFLAGS=$LDFLAGS
     LDFLAGS="$LDFLAGS -Wl,--wrap=malloc"
     AC_LINK_IFELSE([AC_LANG_SOURCE([#include <stdlib.h>
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n) { (void)n; return NULL; }
int main(void) { return malloc(1) != NULL; }])],
       [usp_cv_wrap=yes], [usp_cv_wrap=no])
     LDFLAGS=$usp_saved_LDFLAGS])
  WRAP_LDFLAGS=
  AS_IF([test $usp_cv_wrap = yes],
    [WRAP_LDFLAGS=-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=free])
  AC_SUBST([WRAP_LDFLAGS])
])

AC_DEFUN([USP_PTHREAD], [
  AC_SEARCH_LIBS([pthread_create], [pthread])
])

# USP_COMPRESSION(NAME, HEADER, FUNCTION, [LIBRARY]): defines HAVE_NAME if a program that calls FUNCTION can be linked;
# an error if --with-NAME was given and it cannot. The link decides, because pkg-config may describe another processor's
# library. No program is linked with the library: lib/images/decompress.c loads it.
AC_DEFUN([USP_COMPRESSION], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--without-$1], [do not read symbols that are compressed by $1])],
    [], [with_$1=auto])
  usp_$1=no
  AS_IF([test "$with_$1" != no],
    [AC_CHECK_HEADER([$2],
      [AC_CHECK_LIB(m4_default([$4], [$1]), [$3],
        [usp_$1=yes
         AC_DEFINE(m4_toupper([HAVE_$1]), [1], [Symbols that are compressed by $1 can be read.])])])
     AS_IF([test "$with_$1" = yes && test $usp_$1 = no], [AC_MSG_ERROR([--with-$1: the library was not found])])])
])

# USP_TOOL_LIBRARY(NAME, HEADER, FUNCTION, WITHOUT): defines HAVE_LIBNAME if a program that calls FUNCTION can be
# linked; an error if --with-libNAME was given and it cannot. No program is linked with the library: the command loads
# it.
AC_DEFUN([USP_TOOL_LIBRARY], [
  AC_ARG_WITH([lib$1], [AS_HELP_STRING([--without-lib$1], [$4])],
    [], [with_lib$1=auto])
  usp_lib$1=no
  AS_IF([test "$with_lib$1" != no],
    [AC_CHECK_HEADER([$2],
      [AC_CHECK_LIB([$1], [$3],
        [usp_lib$1=yes
         AC_DEFINE(m4_toupper([HAVE_LIB$1]), [1], [lib$1 can be loaded.])])])
     AS_IF([test "$with_lib$1" = yes && test $usp_lib$1 = no],
       [AC_MSG_ERROR([--with-lib$1: the library was not found])])])
])

# USP_LIBRARY_ONCE: sets LIBRARY_ONCE to the Libtool flags with which each source of the library is compiled once, as
# position-independent code, for the shared and the static library. That halves the time of the build. The option
# --with-nonpic compiles the static library's objects a second time, without position-independent code; so does
# Libtool's --without-pic. Libtool must make both forms on Windows.
AC_DEFUN([USP_LIBRARY_ONCE], [
  AC_ARG_WITH([nonpic], [AS_HELP_STRING([--with-nonpic],
    [compile the static library a second time, as position-dependent code])], [], [with_nonpic=no])
  LIBRARY_ONCE= usp_forms=
  AS_IF([test "$enable_shared,$enable_static" = yes,yes],
    [usp_forms=", compiled twice"
     AS_CASE([$host_os,$with_nonpic,$pic_mode],
       [cygwin*|mingw*|pw32*|os2*|cegcc*], [],
       [*,no,no], [],
       [*,no,*], [LIBRARY_ONCE=--tag=disable-static usp_forms=", compiled once"])])
  AC_SUBST([LIBRARY_ONCE])
])

# USP_TESTS_CFLAGS: sets TESTS_RULES to lines for GNU make that compile the tests' own code without optimization, which
# takes a fraction of the time. The library keeps its flags. The tests get CFLAGS without their level of optimization;
# a test that needs a level states it in a CFLAGS variable of its own. Benchmarks, fuzzers and the emulated runs keep
# all of CFLAGS. The lines are left out for other makes, and where _FORTIFY_SOURCE needs optimization.
AC_DEFUN([USP_TESTS_CFLAGS], [
  TESTS_RULES=
  AS_CASE([" $CPPFLAGS $CFLAGS "], [*_FORTIFY_SOURCE*], [],
    [AS_IF([${MAKE-make} --version 2>/dev/null | grep 'GNU Make' >/dev/null],
      [usp_tests_cflags=`AS_ECHO([" $CFLAGS "]) | $SED ['s/ -O[0-9a-z]* / /g']`
       TESTS_RULES="tests/%.$OBJEXT tests/%.lo: CFLAGS =$usp_tests_cflags
tests/bench/%.$OBJEXT tests/fuzz/%.$OBJEXT tests/emulated/%.$OBJEXT tests/apple/emulated/%.$OBJEXT: CFLAGS = $CFLAGS"])])
  AC_SUBST([TESTS_RULES])
  AM_SUBST_NOTMAKE([TESTS_RULES])
])

# USP_DIST: makes `make dist` write the same archive in each folder, on each day and for each user, with GNU tar. The
# Makefile has the archive's time (dist_time).
AC_DEFUN([USP_DIST], [
AS_CASE([`(tar --version) 2>/dev/null`],
  [*GNU*], [am__tar='tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@$(dist_time) -chf - "$$tardir"'])
])
