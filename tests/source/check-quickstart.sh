#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests tools/quickstart on machines that lack tools: what it installs and how, and its message where it cannot. The
# machine is a folder of commands. The build ends at this machine's autoreconf.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
make_work

# Copies the files of a clone that the script needs.
mkdir -p "$work/clone"
cp -r "$top/tools" "$work/clone"
machine=$work/machine
shell=$(command -v sh)
mkdir "$machine"

# stub NAME: makes a command of the machine from the text on standard input.
stub() {
  { echo "#!$shell" && cat; } >"$machine/$1"
  chmod +x "$machine/$1"
}

# Scripts instead of links, because writing a stub in place of a link would overwrite this machine's own command.
for command in dirname id mkdir cat tail nproc env true; do echo "exec $(type -P "$command") \"\$@\"" | stub "$command"; done

# quickstart STATUS ARGUMENT...: runs the script. Its output is in $work/out, the stubs' notes are in $work/log.
quickstart() {
  local expected=$1 status=0
  shift
  : >"$work/log"
  env -i "PATH=$machine" "LOG=$work/log" "$shell" "$work/clone/tools/quickstart" "$@" >"$work/out" 2>&1 || status=$?
  [[ $status -eq $expected ]] || fail "quickstart $*: exit status $status instead of $expected: $(cat "$work/out")"
}
out_is() { [[ $(cat "$work/out") == "$1" ]] || fail "said: $(cat "$work/out")" "instead of: $1"; }

quickstart 2
quickstart 2 both
quickstart 0 --help

# Another system, without apt-get and dpkg. A package that has a command is searched for by it.
quickstart 1 demo
out_is "This system has no apt-get. Please install what Debian 12 calls: gcc make autoconf automake libtool pkg-config"
for command in gcc make autoconf automake libtoolize; do stub "$command" </dev/null; done
quickstart 1 demo
out_is "This system has no apt-get. Please install what Debian 12 calls: pkg-config"
# Nothing is missing, so the build begins; this machine lacks its first tool.
stub pkg-config </dev/null
quickstart 1 demo
[[ $(head -n 1 "$work/out") == autoreconf ]] || fail "said: $(cat "$work/out")"

# Debian: installs what is missing, with one call after the lists were updated, and nothing else.
stub dpkg-query <<'END'
for package; do :; done
case $package in
make | libtool) exit 1 ;;
gcc) printf 'install ok installed\ninstall ok installed\n' ;;
autoconf) echo 'deinstall ok config-files' ;;
*) echo 'install ok installed' ;;
esac
END
stub apt-get <<'END'
echo "$*" >>"$LOG"
END
stub sudo <<'END'
[ "$1" = -n ] || exit 1
shift
exec "$@"
END
quickstart 1 demo
[[ $(head -n 1 "$work/out") == "installing: make autoconf libtool" ]] || fail "said: $(cat "$work/out")"
[[ $(wc -l <"$work/log") -eq 2 && $(head -n 1 "$work/log") == *update ]] || fail "called: $(cat "$work/log")"
grep -qE ' install -y --no-install-recommends make autoconf libtool$' "$work/log" || fail "called: $(cat "$work/log")"

# Not root, and without a way to become root.
stub id <<'END'
echo 1000
END
stub sudo <<'END'
exit 1
END
quickstart 1 check
out_is "Not root, and no sudo without a password. Please run: apt-get install --no-install-recommends make autoconf libtool"
[[ ! -s $work/log ]] || fail "called: $(cat "$work/log")"

# A mirror that does not answer: the script tries again, and reports it.
stub id <<'END'
echo 0
END
stub sleep </dev/null
stub apt-get <<'END'
echo "$*" >>"$LOG"
echo 'no mirror'
exit 100
END
quickstart 1 demo
[[ $(grep -c update "$work/log") -eq 5 ]] || fail "called: $(cat "$work/log")"
out_is "$(printf 'installing: make autoconf libtool\nno mirror\nno mirror\napt-get could not install: make autoconf libtool')"
verdict
