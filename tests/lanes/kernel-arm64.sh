# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: a real arm64 kernel with pointer authentication, booted by qemu-system-aarch64, runs the tests with pac-ret code
need_build gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm cpio
check_for arm64 aarch64-linux-gnu

# The kernel: of its package only the image itself is unpacked, the tests need no module.
kernel=$cache/arm64/vmlinuz
# linux-image-arm64 is empty and depends on the newest one.
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
configure_in aarch64-pac --host=aarch64-linux-gnu "CFLAGS=-O2 -g -mbranch-protection=pac-ret"
make_in aarch64-pac all
make_in aarch64-pac test-programs

# The machine's only file system. What was built lies where it lies here, so that run paths hold there too.
root=$build/kernel/root
rm -rf "$build/kernel"
mkdir -p "$root"/{proc,sys,dev,tmp,lib,bin}
aarch64-linux-gnu-gcc -static -O2 -std=gnu11 -Wall -Wextra -Werror "$top/tests/kernel/init.c" -o "$root/init"
for library in ld-linux-aarch64.so.1 libc.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libgcc_s.so.1; do
  cp -L "/usr/aarch64-linux-gnu/lib/$library" "$root/lib/"
done
(cd "$build" && find . -path ./kernel -prune -o -type f -perm -u+x -print -o -name '*.so*' -print) |
  (cd "$build" && grep -vE '/(config\.status|libtool)$' | cpio --quiet -pdm "$root$build")
make -s -C "$build" print-test-programs | sed "s,^,$build/," >"$root/tests"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$build/kernel/initrd.gz"

console=$build/kernel/console
timeout --foreground 900 qemu-system-aarch64 -M virt -cpu max -smp 2 -m 1024 -nographic -nic none -no-reboot \
  -kernel "$kernel" -initrd "$build/kernel/initrd.gz" -append "console=ttyAMA0 panic=-1 quiet" \
  </dev/null | tr -d '\r' | tee "$console"
verdict=$(grep -a 'unspool-kernel: passed' "$console" || echo 'the machine did not come to its end')
[[ $verdict == *' failed 0' && $verdict != *'passed 0 '* ]] || {
  echo "$verdict" >&2
  exit 1
}
