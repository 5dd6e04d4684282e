# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Finds Swift's toolchain, and names in its files. Sourced by the tests and the benchmark of Swift's names, and by the
# lane swift.

# find_swift: sets $swift_folder to the folder of Swift's programs: $USP_SWIFT if that is set; else where swift-demangle
# is in PATH, or where Swift's own images and archives have it. Other programs must not use its compilers, so it is not
# added to PATH.
find_swift() {
  local place places=() program
  if [[ -n ${USP_SWIFT-} ]]; then
    places=("$USP_SWIFT")
  else
    program=$(command -v swift-demangle) && places=("$(dirname "$(readlink -f "$program")")")
    places+=(/usr/bin /opt/swift/usr/bin)
  fi
  for place in "${places[@]}"; do
    # shellcheck disable=SC2034 # used where this is sourced
    swift_folder=$place
    if [[ -x $place/swift-demangle && -x $place/swiftc ]]; then return 0; fi
  done
  return 1
}

# The message for a machine without a toolchain.
# shellcheck disable=SC2034 # used where this is sourced
no_swift='no Swift toolchain here (USP_SWIFT=FOLDER names the one with swift-demangle and swiftc)'

# swift_names: prints names that may be Swift's from any text on standard input, one on each line, each once.
swift_names() {
  perl -ne 'print "$1\n" while /(?<![\w\$])((?:\@__swiftmacro_|_?\$[sSe]|_T[0-9A-Zt])[\w\$.\x80-\xff]+)/ag' | LC_ALL=C sort -u
}

# symbols_of: prints the Swift names in the symbol tables of the files on standard input, which are separated by NULs. A
# file that is not an object file has none.
symbols_of() {
  local file
  while IFS= read -r -d '' file; do
    { nm "$file" && nm -D "$file"; } 2>/dev/null || :
  done | awk '{ sub(/@.*/, "", $NF) } $NF ~ /^(_?[$][sSe]|_T)/ { print $NF }' | LC_ALL=C sort -u
}

# runtime_names: prints the names in the libraries that Swift's programs run with: the standard library, Foundation,
# Dispatch, XCTest, …
runtime_names() { find "${swift_folder%/bin}/lib/swift" -type f -name '*.so' -print0 | symbols_of; }

# toolchain_names: prints the names in all libraries and programs of the toolchain: the compiler's, the package
# manager's, the debugger's.
toolchain_names() {
  local prefix=${swift_folder%/bin} places=() place
  for place in "$prefix"/bin/*swift* "$prefix"/bin/{docc,wasmkit} "$prefix"/lib/{swift,swift_static} \
    "$prefix"/lib/lib{swift,Swift,sourcekit,lldb,IndexStore}* "$prefix"/libexec/swift; do
    if [[ -e $place && ! -L $place ]]; then places+=("$place"); fi
  done
  find "${places[@]}" -type f \( -perm -u+x -o -name '*.so' -o -name '*.a' -o -name '*.o' \) -print0 | symbols_of
}
