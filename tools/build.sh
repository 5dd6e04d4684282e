# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions that build outside of the source tree, in build/NAME, for tools/quickstart and the lanes. Sourced with $top
# set to the project's folder; only defines functions.

jobs=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# configure_in NAME ARGUMENT...: configures build/NAME, unless it was configured with the same arguments, the same
# environment of configure and the same configure script (make itself notices a changed configure.ac). With
# USP_BUILD_ONCE in the environment, the build does not remember which files include which headers, and takes five
# sixths of the time; a changed header is then not noticed.
configure_in() {
  name=$1
  shift
  [ -z "${USP_BUILD_ONCE-}" ] || set -- --disable-dependency-tracking "$@"
  if [ -f "$top/config.status" ]; then
    echo "The source tree is configured in place, so nothing can be built outside of it: make distclean first." >&2
    exit 1
  fi
  if [ ! -x "$top/configure" ] || [ ! -f "$top/Makefile.in" ]; then
    echo "autoreconf"
    mkdir -p "$top/build"
    (cd "$top" && autoreconf -fi) >"$top/build/autoreconf.log" 2>&1 || {
      cat "$top/build/autoreconf.log" >&2
      exit 1
    }
  fi
  wanted="$* ${CC-} ${CFLAGS-} ${CPPFLAGS-} ${LDFLAGS-} ${PKG_CONFIG_LIBDIR-} ${PKG_CONFIG_SYSROOT_DIR-}"
  stamp=$top/build/$name/configured-with
  if [ -f "$top/build/$name/Makefile" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    return 0
  fi
  echo "configure: build/$name $*"
  # Removes the build, because make would use objects that were compiled with other flags.
  rm -rf "${top:?}/build/$name"
  mkdir -p "$top/build/$name"
  # In sh, because bash, which configure would choose where sh is dash, takes half as long again; Libtool's script, which
  # compiles and links everything, runs in the same shell.
  (cd "$top/build/$name" && CONFIG_SHELL=${CONFIG_SHELL-/bin/sh} && export CONFIG_SHELL &&
    "$CONFIG_SHELL" "$top/configure" --quiet "$@") || exit 1
  printf '%s' "$wanted" >"$stamp"
}

# make_in NAME ARGUMENT...: runs make in build/NAME, with as many jobs as there are processors.
make_in() {
  name=$1
  shift
  make -C "$top/build/$name" --no-print-directory -j"$jobs" "$@"
}

# check_in NAME ARGUMENT...: runs make check in build/NAME. A test that fails is shown with its output.
check_in() {
  name=$1
  shift
  make_in "$name" check VERBOSE=1 "$@"
}
