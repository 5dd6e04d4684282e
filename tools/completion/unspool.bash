# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Bash completion of the command unspool: commands, their options, and what follows these. Sourced by bash-completion, or
# from ~/.bashrc; needs nothing but bash 4.

_unspool_options() {
  case $1 in
  stack)
    echo '-p --thread --max --tail --whole-stack --timeout --async --tasks --goroutines --merge --json --style --demangle --no-symbols --no-lines --lines --full-path --columns
      --map-path --index --app --no-system --image --sysroot --program --shared-cache --core -h --help'
    ;;
  symbolize)
    echo '-o -p -arch --arch --uuid -l -s -offset --offset -f -i -inlineFrames -fullPath --columns --aliases --map-path --index --shared-cache --demangle --json --log --search --binary-images
      --fetch --debuginfod --fetch-cache --fetch-timeout --in-place --follow --output --keep-names --jobs --strict --quiet --records -h --help'
    ;;
  record)
    echo '-o -p --duration --rate --threads --format --wall --cpu --merge --native-ids --max --async --budget --memory --demangle
      --no-symbols --no-lines --lines --map-path --index --quiet -h --help'
    ;;
  profile)
    echo '-o --pid --comm --event --time --format --wall --cpu --merge --native-ids --max --memory --demangle --no-symbols --no-lines --lines
      --map-path --index --sysroot --buildid-dir --quiet -h --help'
    ;;
  report) echo '--search --shared-cache --binary-images --fetch --debuginfod --fetch-cache --fetch-timeout --index --map-path --demangle --thread --app --json --html --diff --keep-names --strict --quiet -h --help' ;;
  images) echo '--json --shared-cache -h --help' ;;
  index) echo '-o --store --force --verify --threads --only --quiet -h --help' ;;
  store) echo '-o --store --force --verify --threads --only --json --older-than --dry-run --quiet -h --help' ;;
  crash-handler) echo '--directory --max-reports --max-bytes --timeout --sysroot -h --help' ;;
  symbols) echo '--image --shared-cache --extract --objc --arch --uuid --demangle --json -h --help' ;;
  *) echo '-h --help --version' ;;
  esac
}

_unspool_processes() {
  local folder
  for folder in /proc/[0-9]*; do echo "${folder#/proc/}"; done
}

# _unspool_reply KIND WORD [OPTION...]: COMPREPLY becomes what compgen makes of the word.
_unspool_reply() {
  mapfile -t COMPREPLY < <(compgen "${@:3}" -- "$2")
  case $1 in
  # A slash is put after folders, and quotes around what needs them.
  files) compopt -o filenames 2>/dev/null ;;
  esac
}

_unspool() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    _unspool_reply words "$word" -W "stack record profile symbolize report images symbols index store crash-handler help $(_unspool_options '')"
    return
  fi
  case $command:$before in
  help:*) _unspool_reply words "$word" -W 'stack record profile symbolize report images symbols index store crash-handler' ;;
  report:--thread) _unspool_reply words "$word" -W crashed ;;
  *:--style)
    _unspool_reply words "$word" \
      -W 'call-stack-symbols backtrace-symbols bs-backtrace crash-report folded ips sentry portable plain json'
    ;;
  *:--format) _unspool_reply words "$word" -W 'tree folded pprof speedscope firefox json svg otlp' ;;
  *:--demangle) _unspool_reply words "$word" -W 'full simple short no' ;;
  *:--arch | symbolize:-arch) _unspool_reply words "$word" -W 'arm64 arm64e arm64_32 armv7 armv7s armv7k x86_64 x86_64h i386' ;;
  *:--sysroot | *:--buildid-dir | *:--directory | *:--search | *:--fetch-cache | *:--store | *:--index | *:--output | index:-o | store:-o) _unspool_reply files "$word" -A directory ;;
  *:--fetch) _unspool_reply words "$word" -c ;;
  *:--program | *:--core | *:--log | *:--binary-images | *:--shared-cache | symbolize:-[of] | record:-o | profile:-o) _unspool_reply files "$word" -f ;;
  symbolize:-p | stack:-p | record:-p) _unspool_reply words "$word" -W "$(_unspool_processes)" ;;
  # Numbers, patterns, identifiers: nothing that could be known.
  *:--thread | *:--threads | *:--max | *:--tail | *:--timeout | *:--image | *:--uuid | *:--older-than | *:--fetch-timeout | *:--only | *:--map-path | symbolize:-[ls] | \
    *:--duration | *:--rate | *:--max-reports | *:--max-bytes | *:--budget | *:--memory) ;;
  *)
    if [[ $word == -* ]]; then
      _unspool_reply words "$word" -W "$(_unspool_options "$command")"
    elif [[ $command == record ]]; then
      _unspool_reply words "$word" -W "$(_unspool_processes)"
    elif [[ $command == stack || $command == images ]]; then
      _unspool_reply files "$word" -W "$(_unspool_processes)" -f
    elif [[ $command == store && $COMP_CWORD -eq 2 ]]; then
      _unspool_reply words "$word" -W 'add list verify prune'
    elif [[ $command == store ]]; then
      _unspool_reply files "$word" -f
    elif [[ $command == symbols || $command == index || $command == report ]]; then
      _unspool_reply files "$word" -f
    fi
    ;;
  esac
}

complete -F _unspool unspool
