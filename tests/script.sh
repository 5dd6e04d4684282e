# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the test scripts share. Sourced by them; each runs in the folder of the build (as make check does it), or anywhere
# when it looks at the source alone.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
failures=0

# fail TEXT...: one finding; the script goes on and ends with `verdict`.
fail() {
  echo "$*"
  failures=$((failures + 1))
}

verdict() {
  [[ $failures -eq 0 ]] && exit 0
  echo "$(basename "$0"): $failures found"
  exit 1
}

# skip TEXT: Automake's status for a test that could not be made. Where USP_REQUIRE_TOOLS is set (CI), that is a failure.
skip() {
  echo "skipped: $*"
  [[ -z ${USP_REQUIRE_TOOLS-} ]] || exit 1
  exit 77
}

have() { command -v "$1" >/dev/null 2>&1; }

# The project's own files below the folders given (default: all), relative to $top: what git knows, or without git what
# is there but for what a build makes.
# shellcheck disable=SC2120 # no folder is a call as good as any
sources() {
  (
    cd "$top" || exit 1
    if git rev-parse --git-dir >/dev/null 2>&1; then
      git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
        [[ -f $file ]] && echo "$file"
      done
    else
      find "${@:-.}" \( -name build -o -name build-aux -o -name autom4te.cache -o -name .libs -o -name .deps \) -prune \
        -o -type f -print | sed 's,^\./,,'
    fi
  )
}

# C text on standard input without comments and with string literals emptied. (Automake needs perl as well.)
strip_comments() { perl -0pe 's{/\*.*?\*/}{ }gs; s{//[^\n]*}{}g; s{"(?:[^"\\\n]|\\.)*"}{""}g'; }

# The functions that the public headers declare with USP_API, one a line.
public_functions() {
  cat "$top"/include/unspool/*.h | strip_comments | tr '\n' ' ' | grep -oE 'USP_API [^;{(]*\busp_[a-z0-9_]+ *\(' |
    grep -oE 'usp_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u
}
