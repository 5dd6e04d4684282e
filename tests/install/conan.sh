#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the Conan package from an unpacked release archive, and builds and runs a program with it. Run by the lane release.
#   tests/install/conan.sh SOURCE VENV    VENV: a virtual environment with Conan 2
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/readme_command.sh
. "$top/tests/support/readme_command.sh"
need_tools cmake gcc
make_work
source=$(cd "${1:?usage: conan.sh SOURCE VENV}" && pwd) venv=${2:?usage: conan.sh SOURCE VENV}
export CONAN_HOME=$work/conan PATH=$venv/bin:$PATH
conan profile detect >/dev/null 2>&1
command=$(readme_command 'a package of Conan 2')
cd "$source"
for shared in False True; do
  bash -c "$command --no-remote -o 'unspool/*:shared=$shared'" >"$work/log" 2>&1 || {
    tail -n 60 "$work/log"
    fail "conan create, shared=$shared"
    break
  }
  grep -qE '(^| )main( |$)' "$work/log" || fail "shared=$shared: the program does not print its stack: $(tail -n 20 "$work/log")"
done
verdict
