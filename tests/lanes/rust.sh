# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the crates of bindings/rust with Debian's Rust: declarations against the headers, captures, snapshots, panics in callbacks; linked with the build, with an installed library and statically
need_build cargo rustc
configure_in check
make_in check lib/libunspool.la
crates=$top/bindings/rust

# Debian's, not another one that is earlier in PATH.
export PATH=/usr/bin:/bin CARGO_HOME=$work/home CARGO_TARGET_DIR=$top/build/rust CARGO_INCREMENTAL=0 RUST_BACKTRACE=0
unset RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTUP_TOOLCHAIN UNSPOOL_STATIC
run_cargo() { (cd "$crates" && /usr/bin/cargo --offline "$@"); }
export RUSTFLAGS='-D warnings'

# The library of the build.
export UNSPOOL_LIB_DIR=$top/build/check/lib/.libs
LD_LIBRARY_PATH=$UNSPOOL_LIB_DIR run_cargo test --locked
LD_LIBRARY_PATH=$UNSPOOL_LIB_DIR run_cargo run --quiet --example threads >"$work/threads"
grep -q ' threads::main' "$work/threads"
UNSPOOL_STATIC=1 UNSPOOL_LIBS=$(sed -n 's/^LIBS = //p' "$top/build/check/Makefile") run_cargo build --example threads
if readelf -d "$CARGO_TARGET_DIR/debug/examples/threads" | grep 'libunspool'; then exit 1; fi
"$CARGO_TARGET_DIR/debug/examples/threads" >"$work/threads"
grep -q ' threads::main' "$work/threads"

# An installed library, which pkg-config finds.
unset UNSPOOL_LIB_DIR
make_in check install-libLTLIBRARIES install-pkgconfigDATA "DESTDIR=$work/stage" >"$work/install.log" 2>&1
export PKG_CONFIG_SYSROOT_DIR=$work/stage PKG_CONFIG_LIBDIR=$work/stage/usr/local/lib/pkgconfig
run_cargo build --example threads
LD_LIBRARY_PATH=$work/stage/usr/local/lib "$CARGO_TARGET_DIR/debug/examples/threads" >"$work/threads"
grep -q ' threads::main' "$work/threads"
# Without one, the message says what to do.
if PKG_CONFIG_LIBDIR=$work run_cargo build 2>"$work/said"; then exit 1; fi
grep -q 'UNSPOOL_LIB_DIR' "$work/said"
