#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# callStackReturnAddresses of NSThread in GNUstep Base 1.28 returns an array of NSValue objects that hold pointers.
# Apple's header of the same class declares an array of NSNumber, and programs read each with unsignedIntegerValue or
# unsignedLongValue. An NSValue does not respond to these, so such a program compiles and raises
# NSInvalidArgumentException when it runs; with pointerValue it works here alone.
# An expert expects NSNumber objects, as the names of class and method are Apple's and callStackSymbols beside it
# returns strings as Apple's does.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  libgnustep-base1.28=1.28.1+really1.28.0-5 libobjc4=12.2.0-14+deb12u1 python3.11-minimal libpython3.11-minimal
  libpython3.11-stdlib
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
# A folder for configuration that does not exist: none is read from the home folder.
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu:$work/root/usr/lib GNUSTEP_CONFIG_FILE=$work/none
export PYTHONHOME=$work/root/usr

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# Sends messages by the GNU runtime's functions, so that no compiler is needed.
cat >ask.py <<'END'
import ctypes
import sys

runtime = ctypes.CDLL("libobjc.so.4")
ctypes.CDLL("libgnustep-base.so.1.28")
pointer = ctypes.c_void_p
for function, arguments in (("objc_getClass", [ctypes.c_char_p]), ("sel_registerName", [ctypes.c_char_p]),
                            ("objc_msg_lookup", [pointer, pointer])):
    getattr(runtime, function).restype = pointer
    getattr(runtime, function).argtypes = arguments


def send(receiver, name, *arguments, returns=pointer, takes=()):
    selector = runtime.sel_registerName(name)
    method = runtime.objc_msg_lookup(receiver, selector)
    return ctypes.CFUNCTYPE(returns, pointer, pointer, *takes)(method)(receiver, selector, *arguments)


def responds(to, name):
    return send(to, b"respondsToSelector:", runtime.sel_registerName(name), returns=ctypes.c_bool, takes=(pointer,))


def is_kind(of, name):
    return send(of, b"isKindOfClass:", runtime.objc_getClass(name), returns=ctypes.c_bool, takes=(pointer,))


send(runtime.objc_getClass(b"NSAutoreleasePool"), b"new")
stack = send(runtime.objc_getClass(b"NSThread"), sys.argv[1].encode())
first = send(stack, b"objectAtIndex:", 0, takes=(ctypes.c_ulong,))
names = [b"NSString", b"NSNumber", b"NSValue"]
print(*[name.decode() for name in names if is_kind(first, name)],
      *[name.decode() for name in (b"unsignedLongValue", b"pointerValue") if responds(first, name)])
END
expect 'callStackSymbols' 'NSString' "$(root/usr/bin/python3.11 ask.py callStackSymbols)"
expect 'callStackReturnAddresses' 'NSValue pointerValue' "$(root/usr/bin/python3.11 ask.py callStackReturnAddresses)"
