#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the command's arguments: what it accepts, what it refuses and with which status, and output that cannot be
# written.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"

run 0 --help
out_has '^usage: unspool COMMAND'
out_has '^  stack '
err_is_empty
run 0 --version
out_has '^unspool [0-9]+\.[0-9]+\.[0-9]+$'
# `unspool help COMMAND` is `unspool COMMAND --help`.
run 0 --help
cp "$work/out" "$work/help"
run 0 help
cmp -s "$work/out" "$work/help" || fail "help differs from --help"
run 0 record --help
cp "$work/out" "$work/help"
run 0 help record
cmp -s "$work/out" "$work/help" || fail "help record differs from record --help"
err_is_empty
# The manual page has every option that the help names.
for command in stack record profile symbolize images symbols store; do
  run 0 "$command" --help
  out_has "^usage: unspool $command "
  out_has 'exit status: 0'
  err_is_empty
  page=$top/doc/man/unspool-$command.1
  [[ -f $page ]] || page=$top/doc/man/unspool.1
  sed 's/\\-/-/g' "$page" >"$work/page"
  while read -r option; do
    grep -q -- "$option" "$work/page" || fail "$(basename "$page") lacks $option"
  done < <(grep -oE -- '--[a-z-]+' "$work/out" | sort -u)
  grep -q "^unspool.*$command" <(sed -n 's/^\.BR "unspool/unspool/p' "$work/page") || fail "$command is not in the synopsis"
done

# refused TEXT ARGUMENT...: checks that wrong usage prints nothing on standard output, and a message that matches TEXT.
refused() {
  local text=$1
  shift
  run 2 "$@"
  [[ ! -s $work/out ]] || fail "unspool $*: output: $(cat "$work/out")"
  err_has "$text"
}
refused 'usage: unspool'
refused '"fly" is not a command' fly
refused '"fly" is not a command' help fly
refused 'one command' help stack record
refused 'missing' stack
refused 'one target' stack -p 1 2
refused '^unspool: -p takes a process id, not "x"$' stack -p x
refused '^unspool: -p takes a process id, not "./1"$' record -p ./1
refused 'one process at a time' record -p 1 2
refused 'one process at a time' record -p 1 -- true
refused '^unspool: -e is an option of addr2line; here -o FILE names the program$' symbolize -e /bin/true 0x1000
refused 'one target' stack 1 2
refused "--max takes a number from 1 to 1000000, not \"0\"" stack --max 0 1
refused '"12x"' stack --max 12x 1
refused '"-1"' stack --max=-1 1
refused '"1000001"' stack --max 1000001 1
refused '"99999999999999999999"' stack --thread 99999999999999999999 1
refused '"0"' stack --thread 0 1
refused 'leaves nothing' stack --max 5 --tail 5 1
refused '0 is not a process id' stack 0
refused '99999999999 is not a process id' stack 99999999999
refused '--program is for core files' stack --program /bin/true 1
refused '--merge is a style' stack --merge --json 1
refused "unknown or ambiguous option --fly" stack --fly 1
refused "^unspool: --thread takes a value" stack --thread
refused "^unspool: --json takes no value" stack --json=1 1
refused "^unspool: unknown option -x" stack -x 1
refused "^unspool: unknown or ambiguous option --.x1b.31mred" stack $'--\033[31mred' 1

refused '^unspool: --demangle takes one of the words that --help lists, not "x"$' stack --demangle x 1

refused 'missing' record
refused 'missing' record --
refused 'one process' record 1 2
refused 'one process' record 1 -- true
refused 'not a process id' record "$work"
refused '0 is not a process id' record 0
refused '--rate takes a number from 1 to 10000, not "0"' record --rate 0 1
refused '"1e3"' record --rate 1e3 1
refused '"inf"' record --duration inf 1
refused '"-1"' record --duration=-1 1
refused '"101"' record --budget 101 1
refused '--threads takes' record --threads 5,name 1
refused '--threads takes' record --threads , 1
refused '--threads takes' record --threads 0 1
refused 'no format has this ending' record -o "$work/file" 1
refused 'flat' record --format flat 1

run 3 stack "$work/nothing"
err_has "^unspool: $work/nothing: "
run 3 stack "$work"
err_has "^unspool: $work: "
# A path that is empty is named.
for command in 'stack' 'report' 'symbolize --search . --log' 'images' 'symbols' 'profile' 'index -o store'; do
  # shellcheck disable=SC2086 # words
  run 3 $command ''
  err_has '^unspool: "": [nN]o such file'
done
run 2 record ''
err_has '^unspool: "" is not a process id'
# Standard input that is closed is named.
for command in 'stack -' 'images -' 'report -' 'symbolize --search . --log -' 'profile -' 'symbolize -o /bin/sh'; do
  # shellcheck disable=SC2086 # words
  run 3 $command <&-
  err_has '^unspool: standard input: (cannot be read: )?Bad file descriptor$'
  [[ $(wc -l <"$work/err") -eq 1 ]] || fail "$command with a closed standard input: several messages"
done
# An option that names no store says so, and the command goes on.
: >"$work/file"
for command in 'stack 1' 'symbolize -o /bin/sh 0' 'report /bin/sh' 'profile /bin/sh'; do
  # shellcheck disable=SC2086 # words
  "$unspool" $command --index nowhere >/dev/null 2>"$work/err" || :
  err_has '^unspool: --index nowhere: No such file or directory$'
  # shellcheck disable=SC2086 # words
  "$unspool" $command --index "$work/file" >/dev/null 2>"$work/err" || :
  err_has "^unspool: --index $work/file: Not a directory\$"
done
# The same code serves two commands: each is named.
run 2 index
err_has '^unspool: index: a file or folder is missing$'
err_has '^See .unspool index --help.\.$'
run 2 store add
err_has '^unspool: store add: a file or folder is missing$'
err_has '^See .unspool store add --help.\.$'
# help describes itself.
for word in help --help -h; do
  run 0 help "$word"
  out_has '^usage: unspool COMMAND'
done
# A folder without logs.
mkdir "$work/no logs" "$work/no logs/below"
: >"$work/no logs/.hidden"
for command in report 'symbolize --search . --log'; do
  # shellcheck disable=SC2086 # words
  run 3 $command "$work/no logs"
  err_has "^unspool: $work/no logs: there is no file in this folder; hidden ones and symbolic links do not count\$"
done
# A number is a process id, ./number a file.
cd "$work"
echo text >./123
run 3 stack ./123
err_has '^unspool: \./123: .*core'
: >empty
run 3 stack empty
err_has '^unspool: empty: '

if [[ -w /dev/full ]]; then
  status=0
  "$unspool" --help >/dev/full 2>"$work/err" || status=$?
  [[ $status -eq 4 ]] || fail "a full disk gives status $status"
  err_has '^unspool: the output could not be written'
fi
# A log's file that cannot be written: the reason is said, and the log stays.
for ((i = 0; i < 1000; i++)); do echo "$i   App   0x0000000104e61f34 App + 4, a frame of a long log"; done >long.log
cp long.log kept.log
for options in '--output copies' --in-place; do
  status=0
  # shellcheck disable=SC2086 # words
  (trap '' XFSZ && ulimit -f 8 && exec "$unspool" symbolize --log long.log --search . --quiet $options) \
    2>"$work/err" || status=$?
  [[ $status -eq 4 ]] || fail "$options: a file that is too large gives status $status"
  err_has '^unspool: (copies/)?long\.log: could not be written: File too large$'
  cmp -s long.log kept.log || fail "$options: the log has changed"
  [[ ! -e copies/long.log ]] || fail "a part of a log is left"
done
verdict
