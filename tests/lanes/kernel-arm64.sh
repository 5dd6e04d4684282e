# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: a real arm64 kernel with pointer authentication, booted by qemu-system-aarch64, runs the tests with pac-ret code
need_build gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm cpio clang-19 gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
# The kernel runs 32-bit programs too. These suites depend on what the kernel does with signals; the user-mode emulator of
# the lane armv7 does that by rules of its own.
suites_armv7=()
for name in blocking_calls exec handlers unable; do suites_armv7+=("tests/capture/test_linux_$name"); done
build_armv7
make_in armv7 "${suites_armv7[@]}"
check_for arm64 aarch64-linux-gnu
unpack_for arm64 busybox-static

# Downloads the kernel. Only the image is unpacked, because the tests need no module.
kernel=$cache/arm64/vmlinuz
# linux-image-arm64 is an empty package that depends on the newest kernel's.
download_kernel() {
  local folder=$1 name
  download_for arm64 "$folder" linux-image-arm64 || return 1
  name=$(dpkg -f "$folder"/linux-image-arm64_*.deb Depends | grep -oE 'linux-image-[0-9][^ ,]*' | head -n 1)
  download_for arm64 "$folder" "$name"
}
if [[ ! -s $kernel ]]; then
  echo "fetching the arm64 kernel"
  patiently "$cache/arm64/log" download_kernel "$cache/arm64/new"
  dpkg --fsys-tarfile "$cache"/arm64/new/linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$kernel.new"
  mv "$kernel.new" "$kernel"
  rm -rf "$cache/arm64/new"
fi

build=$top/build/aarch64-pac
configure_in aarch64-pac --disable-static --host=aarch64-linux-gnu "CFLAGS=-O2 -g -mbranch-protection=pac-ret"
make_in aarch64-pac all
# The lane aarch64 runs the suites over bytes. Suites of monitors and samplers are left out: they take long, and use
# captures like any other program.
mapfile -t suites < <(lively aarch64-pac | tr ' ' '\n' | grep -vE '^(tests/(monitor|sampler)/.*)?$')
make_in aarch64-pac test-programs "check_PROGRAMS=${suites[*]}"

# Makes the machine's only file system. The build has the same path there as here, so that run paths are valid. Busybox
# is for tests that run a command.
root=$build/kernel/root
rm -rf "$build/kernel"
mkdir -p "$root"/{proc,sys,dev,tmp,lib,bin}
cross=(aarch64-linux-gnu-gcc -O2 -g -std=gnu11 -Wall -Wextra -Werror -static)
"${cross[@]}" "$top/tests/kernel/init.c" -o "$root/init"
"${cross[@]}" -fno-omit-frame-pointer -mbranch-protection=pac-ret+leaf "$top/tests/corefile/core_victim.c" -o "$root/bin/victim"
cp "$cache/arm64/root/bin/busybox" "$root/bin/"
for applet in sh awk cat grep ls mkdir mktemp rm rmdir sleep true; do ln -s busybox "$root/bin/$applet"; done
for library in ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libgcc_s.so.1; do
  cp -L "/usr/aarch64-linux-gnu/lib/$library" "$root/lib/"
done
mkdir -p "$root/lib/arm-linux-gnueabihf" "$root$top/build/armv7/tests/capture"
cp -L /usr/arm-linux-gnueabihf/lib/ld-linux-armhf.so.3 "$root/lib/"
for library in libc.so.6 libm.so.6 libgcc_s.so.1; do
  cp -L "/usr/arm-linux-gnueabihf/lib/$library" "$root/lib/arm-linux-gnueabihf/"
done
for suite in "${suites_armv7[@]}"; do cp "$top/build/armv7/$suite" "$root$top/build/armv7/$suite"; done
(
  cd "$build" || exit
  find . -path ./kernel -prune -o \( -type l -o -perm -u+x -o -name '*.so*' \) -not -type d -print | grep -vE '/(config\.status|libtool)$' |
    cpio --quiet -pdm "$root$build"
)
cp "$top/tests/kernel/stacks.sh" "$top/tests/kernel/handler.sh" "$root/bin/"
cat >"$root/bin/stacks" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$build/lib/.libs UNSPOOL=$build/tools/.libs/unspool VICTIM=/bin/victim
exec /bin/stacks.sh
END
cat >"$root/bin/handler" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$build/lib/.libs UNSPOOL=$build/tools/.libs/unspool VICTIM=/bin/victim HANDLER=/bin/crash-handler
exec /bin/handler.sh
END
cat >"$root/bin/crash-handler" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$build/lib/.libs
exec $build/tools/.libs/unspool crash-handler "\$@"
END
chmod +x "$root/bin/stacks" "$root/bin/handler" "$root/bin/crash-handler"
{
  echo "$build"
  printf "$build/%s\n" "${suites[@]}"
  printf "$top/build/armv7/%s\n" "${suites_armv7[@]}"
  echo /bin/stacks
  echo /bin/handler
} >"$root/tests"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$build/kernel/initrd.gz"

console=$build/kernel/console
# pauth-impdef: uses a signature function that is quick to emulate, instead of QARMA (QEMU
# docs/system/arm/cpu-features.rst).
timeout --foreground 1500 qemu-system-aarch64 -M virt -cpu max,pauth-impdef=on -smp 2 -m 1024 -nographic -nic none -no-reboot \
  -kernel "$kernel" -initrd "$build/kernel/initrd.gz" -append "console=ttyAMA0 panic=-1 quiet" \
  </dev/null | tee "$console"
verdict=$(tr -d '\r' <"$console" | grep -a 'unspool-kernel: passed' || echo 'the machine did not come to its end')
[[ $verdict == *' failed 0' && $verdict != *'passed 0 '* ]] || {
  echo "$verdict" >&2
  exit 1
}
