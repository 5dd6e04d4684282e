# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the caches that the tests make, read by DyldExtractor and by the Rust crate `object`, which must agree with the dylibs in them; the command with these caches
need_build clang-19 lld-19 llvm-19 python3 python3-venv cargo rustc librust-object-dev
configure_in check
make_in check all
# Not beside `all`, whose make would build the same library at the same time.
make_in check tests/tool/stuck tests/shared_cache/cache_words

venv=$(python_tools dyldextractor 'dyldextractor==2.2.2')

# Debian's crates in place of a registry, and Debian's compiler.
export CARGO_HOME=$work/cargo
mkdir -p "$CARGO_HOME"
printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' >"$CARGO_HOME/config.toml"
cp -r "$top/tests/shared_cache/object_reader" "$top/tests/shared_cache/object_reader.rs" "$work"
(
  cd "$work/object_reader" || exit
  unset RUSTFLAGS RUSTC RUSTC_WRAPPER RUSTUP_TOOLCHAIN
  PATH=/usr/bin:/bin CARGO_TARGET_DIR=$work/target /usr/bin/cargo --offline build -q
)

# shellcheck source=tests/shared_cache/dylibs.sh
. "$top/tests/shared_cache/dylibs.sh"
mkdir "$work/caches"
for arch in arm64 arm64_32 x86_64; do make_dylibs "$arch" "$work/caches/$arch"; done
PYTHONDONTWRITEBYTECODE=1 python3 "$shared_cache/readers.py" "$work/caches" "$venv/bin/dyldex" "$work/target/debug/object_reader"

mapfile -t scripts < <(cd "$top" && printf '%s\n' tests/shared_cache/*.sh | grep -vE '/(dylibs|compare_headers)\.sh$')
check_rest check "${scripts[@]}"
