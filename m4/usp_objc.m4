# SPDX-License-Identifier: MIT
# Objective-C: the compiler, its runtime, Foundation.

# USP_OBJC: checks whether the compiler of AC_PROG_OBJC makes programs with an Objective-C runtime. Each Apple SDK has
# Apple's; a cross compiler may wrongly find this host's copy of GCC's.
AC_DEFUN([USP_OBJC], [
  AC_CACHE_CHECK([whether $OBJC makes Objective-C programs], [usp_cv_objc],
    [usp_cv_objc=no
     AC_LANG_PUSH([Objective C])
     usp_saved_LIBS=$LIBS
     LIBS="-lobjc $LIBS"
     AS_IF([test $usp_os = darwin || test "$cross_compiling" != yes],
       [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <objc/runtime.h>]], [[return objc_getClass("Object") == 0;]])], [usp_cv_objc=yes])])
     LIBS=$usp_saved_LIBS
     AC_LANG_POP([Objective C])])
])

# USP_FOUNDATION: decides whether libunspool-objc is built (usp_foundation), and sets its flags: FOUNDATION_CPPFLAGS,
# FOUNDATION_OBJCFLAGS, FOUNDATION_LIBS. Foundation is Apple's, or GNUstep's with GCC's runtime. The link decides,
# because gnustep-config may describe another processor's library.
AC_DEFUN([USP_FOUNDATION], [
  AC_ARG_ENABLE([objc], [AS_HELP_STRING([--enable-objc],
    [build libunspool-objc, for Objective-C and Swift; elsewhere than on Apple systems with GNUstep and GCC's runtime.
     Default: on Apple systems])], [],
    [AS_IF([test $usp_os = darwin], [enable_objc=auto], [enable_objc=no])])
  usp_foundation=no
  FOUNDATION_CPPFLAGS=
  FOUNDATION_OBJCFLAGS=
  FOUNDATION_LIBS=
  FOUNDATION_LDFLAGS=
  AC_PATH_PROG([GNUSTEP_CONFIG], [gnustep-config])
  AS_IF([test $usp_os = darwin],
      [FOUNDATION_OBJCFLAGS=-fvisibility=hidden
       FOUNDATION_LIBS="-framework Foundation"],
    [test -n "$GNUSTEP_CONFIG"],
      [for flag in `$GNUSTEP_CONFIG --objc-flags`; do
         AS_CASE([$flag],
           [-I.], [],
           [-I*], [FOUNDATION_CPPFLAGS="$FOUNDATION_CPPFLAGS -isystem `AS_ECHO(["$flag"]) | $SED 's/^-I//'`"],
           [-D*], [FOUNDATION_CPPFLAGS="$FOUNDATION_CPPFLAGS $flag"],
           [-f*], [FOUNDATION_OBJCFLAGS="$FOUNDATION_OBJCFLAGS $flag"])
       done
       for flag in `$GNUSTEP_CONFIG --base-libs`; do
         AS_CASE([$flag],
           [-L*], [AS_IF([test -d "`AS_ECHO(["$flag"]) | $SED 's/^-L//'`"], [FOUNDATION_LIBS="$FOUNDATION_LIBS $flag"])],
           [-l*], [FOUNDATION_LIBS="$FOUNDATION_LIBS $flag"])
       done
       # On Apple systems the compiler hides names that are not public. GCC makes the names of classes itself, so the
       # linker needs a list of the public ones.
       FOUNDATION_LDFLAGS="-export-symbols-regex '^(__objc_class_name_${SYMBOL_PREFIX}USP(Frame|Hang|HangMonitor|InlinedCall|SourceLocation|Stack|Thread)|${SYMBOL_PREFIX}USPErrorDomain)\$\$'"])
  AS_IF([test "$enable_objc" != no && test $usp_os != none],
    [AC_MSG_CHECKING([for Foundation])
     AC_LANG_PUSH([Objective C])
     usp_saved_CPPFLAGS=$CPPFLAGS usp_saved_OBJCFLAGS=$OBJCFLAGS usp_saved_LIBS=$LIBS
     CPPFLAGS="$CPPFLAGS $FOUNDATION_CPPFLAGS"
     OBJCFLAGS="$OBJCFLAGS $FOUNDATION_OBJCFLAGS"
     LIBS="$FOUNDATION_LIBS $LIBS"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#import <Foundation/Foundation.h>]], [[return [NSThread isMainThread] ? 0 : 1;]])],
       [usp_foundation=yes])
     CPPFLAGS=$usp_saved_CPPFLAGS OBJCFLAGS=$usp_saved_OBJCFLAGS LIBS=$usp_saved_LIBS
     AC_LANG_POP([Objective C])
     AC_MSG_RESULT([$usp_foundation])])
  AS_IF([test "$enable_objc" = yes && test $usp_foundation = no],
    [AC_MSG_ERROR([--enable-objc: no Foundation, neither Apple's nor GNUstep's, or no live threads (--with-os=none)])])
  AC_SUBST([FOUNDATION_CPPFLAGS])
  AC_SUBST([FOUNDATION_OBJCFLAGS])
  AC_SUBST([FOUNDATION_LIBS])
  AC_SUBST([FOUNDATION_LDFLAGS])
  AM_CONDITIONAL([WITH_OBJC], [test $usp_foundation = yes])
])
