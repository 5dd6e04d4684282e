#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that links, pipes and setuid files of a user do not lead root's outputs elsewhere: profiles, indexes, fetched
# files, and logs whose folder is exchanged for a link while others are read.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
# shellcheck source=tests/hostile/users.sh
. "$(dirname "$0")/users.sh"
cd "$work"
echo secret >secret
is_intact() { [[ $(cat "$work/secret") == secret ]] || fail "$1: written through a link"; }
start "$stuck"
record() { run "$1" record --quiet --duration 0.02 --format json -o "$2" "$pid"; }

# ---- profiles
as_other ln -s "$work/secret" "$theirs/link"
record 4 "$theirs/link"
err_has '^unspool: .*/link: is a symbolic link of another user$'
is_intact "a link"
as_other mkfifo "$theirs/pipe"
timeout 300 "$unspool" record --quiet --duration 0.02 --format json -o "$theirs/pipe" "$pid" 2>err && fail "a pipe is written"
err_has '^unspool: .*/pipe: is a pipe of another user$'
# A link of one's own that leads to another user's.
ln -s "$theirs/link" mine
record 4 mine
is_intact "a link to a link"
ln -s profile link
record 0 link
[[ -L link && -s profile ]] || fail "a link of one's own: $(ls -l)"
# A file is replaced, not written to, and loses the setuid bit.
ln profile other-name
before=$(cat other-name)
chmod 4750 profile
echo old >other-name
record 0 profile
[[ $(cat other-name) == old && -s profile ]] || fail "a file with two names: $before"
expect_state "a profile that is replaced" profile "750 0 0"
as_other cp /bin/sh "$theirs/shell"
as_other chmod 4755 "$theirs/shell"
record 0 "$theirs/shell"
[[ ! -u $theirs/shell ]] || fail "a setuid file has root's bytes: $(state "$theirs/shell")"
# What a profile says of a process, others cannot ask of it.
[[ $(stat -c %a "$theirs/shell") == 600 ]] || fail "a new file: $(state "$theirs/shell")"
# A profile that cannot be taken leaves the former one.
cp profile kept
run 3 record --quiet --format json -o kept 999999999
cmp -s profile kept || fail "the former profile is gone"
[[ -z $(find . "$theirs" -name '*.unspool-*') ]] || fail "left over: $(find . -name '*.unspool-*')"
# Devices, open descriptors and pipes of one's own are written as they are.
record 0 /dev/null
[[ -c /dev/null ]] || fail "/dev/null was replaced"
record 0 /dev/stdout
[[ -s out ]] || fail "/dev/stdout: nothing"
record 0 >(cat >piped)
wait $!
[[ -s piped ]] || fail "a pipe: nothing"

# ---- indexes: a folder of the store is a link
id=$(readelf -n "$unspool" | sed -n 's/.*Build ID: //p')
mkdir etc
if [[ -n $id ]]; then
  as_other mkdir "$theirs/store"
  ln -s "$work/etc" "$theirs/store/${id:0:2}"
  run 3 index --quiet -o "$theirs/store" "$unspool"
  [[ -z $(ls -A etc) ]] || fail "an index outside of the store: $(find etc)"
  # The store itself may be a link, because the caller has named it.
  mkdir real
  ln -s real store
  run 0 index --quiet -o store "$unspool"
  [[ -s real/${id:0:2}/${id:2}/index ]] || fail "a store that is a link: $(find real)"
  expect_state "an index" "real/${id:0:2}/${id:2}/index" "$(printf '%o 0 0' $((0666 & ~0$(umask))))"

  # An index has at most the permissions of the files of which it is made: the program, its debug file, a split unit, a
  # shared file, an archive of them.
  # index_mode WHAT MODE FILE: checks the permissions of the index of a file.
  index_mode() {
    rm -rf made
    run 0 index --quiet -o made "$3"
    expect_state "$1" "$(find made -name index)" "$(printf '%o 0 0' $((0$2 & ~0$(umask))))"
  }
  # Whatever the umask allows.
  mask=$(umask)
  umask 0
  index_mode "of a program" 644 "$unspool"
  umask "$mask"
  cp "$unspool" program
  chmod 600 program
  index_mode "of a program for its owner" 600 program
  chown "0:$other" program
  chmod 640 program
  index_mode "of a program for another group" 600 program
  chown 0:0 program
  index_mode "of a program for its group" 640 program
  mkdir group
  chown "0:$other" group
  chmod 2770 group
  run 0 index --quiet -o group program
  expect_state "in the folder of another group" "$(find group -name index)" "600 0 $other"
  if have gcc && have objcopy && have strip; then
    echo 'int twice(int a) { return 2 * a; } int main(int n, char **a) { (void)a; return twice(n); }' >split.c
    gcc -g -O1 -Wl,--build-id -o full split.c
    objcopy --only-keep-debug full full.debug
    strip -o parted full
    objcopy --add-gnu-debuglink=full.debug parted
    chmod 600 full.debug
    index_mode "of a debug file for its owner" 600 parted
    gcc -g -gsplit-dwarf -O1 -Wl,--build-id -o splitted split.c
    for unit in *.dwo; do [[ ! -e $unit ]] || { chmod 600 "$unit" && index_mode "of a split unit for its owner" 600 splitted; }; done
  fi
  if have python3 && python3 -c 'import zipfile' 2>/dev/null; then
    python3 -c 'import sys, zipfile; zipfile.ZipFile("a.zip", "w").write(sys.argv[1], "program")' "$unspool"
    if "$unspool" index --quiet -o made a.zip 2>/dev/null; then
      chmod 644 a.zip
      index_mode "of an archive" 644 a.zip
      chmod 600 a.zip
      index_mode "of an archive for its owner" 600 a.zip
    fi
  fi

  # An image of a shared cache has bytes of the main file, of a sub-cache and of the file with local symbols.
  if have python3; then
    "$OLDPWD/tests/fuzz/dyld_cache_seeds" .
    python3 - fuzz_dyld_cache/split <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
first, second = struct.unpack_from("<II", data)
for suffix, begin, end in [("", 8, 8 + first), (".02.dylddata", 8 + first, 8 + first + second), (".symbols", 8 + first + second, None)]:
    open("dyld_shared_cache_arm64" + suffix, "wb").write(data[begin:end])
END
    chmod 644 dyld_shared_cache_arm64*
    index_mode "of a shared cache" 644 dyld_shared_cache_arm64
    for suffix in '' .02.dylddata .symbols; do
      chmod 600 "dyld_shared_cache_arm64$suffix"
      index_mode "of a shared cache with a file for its owner" 600 dyld_shared_cache_arm64
      chmod 644 "dyld_shared_cache_arm64$suffix"
    done
  fi

  # ---- fetched files: a folder of the cache is a link
  as_other mkdir "$theirs/cache"
  ln -s "$work/etc" "$theirs/cache/${id:0:2}"
  printf '3   %s + 0x4a10 /opt/unspool\n' "$id" >log
  run 0 symbolize --log log --fetch "cp $unspool {dest} {uuid}" --fetch-cache "$theirs/cache"
  [[ -z $(ls -A etc) ]] || fail "a fetched file outside of the cache: $(find etc)"

  # The command of --fetch does not write in another user's folder, which can be exchanged for a link. The file is copied
  # into the cache where it cannot be moved there.
  cat >copy.sh <<END
echo "\$2" >"$work/dest"
cp "\$1" "\$2"
END
  rm "$theirs/cache/${id:0:2}"
  for temporary in "$work" /dev/shm; do
    [[ -d $temporary ]] || continue
    rm -rf "$theirs/cache/${id:0:2}"
    TMPDIR=$temporary run 0 symbolize --log log --fetch "sh $work/copy.sh $unspool {dest} {uuid}" --fetch-cache "$theirs/cache"
    [[ $(cat dest) == "$temporary"/fetch.*/file ]] || fail "the command writes to $(cat dest)"
    fetched=$theirs/cache/${id:0:2}/${id:2}/debuginfo
    cmp -s "$unspool" "$fetched" || fail "not in the cache: $(find "$theirs/cache")"
    expect_state "a fetched file" "$fetched" "$(printf '%o 0 0' $((0666 & ~0$(umask))))"
    # It has at most the permissions that the command gave it.
    rm "$fetched"
    TMPDIR=$temporary run 0 symbolize --log log --fetch "sh $work/copy.sh $work/program {dest} {uuid}" --fetch-cache "$theirs/cache"
    expect_state "a fetched file for its owner's group" "$fetched" "640 0 0"
    [[ -z $(find "$temporary" -maxdepth 1 -name 'fetch.??????') ]] || fail "left in $temporary: $(ls "$temporary")"
  done
fi

# ---- a folder of logs that is exchanged for a link when the first log has been read
as_other mkdir -p "$theirs/logs/b"
report='3   0123ABCD-4567-89AB-CDEF-0123456789AB + 0x4a10 /opt/App'
echo "$report" >"$theirs/logs/a"
echo theirs >"$theirs/logs/b/passwd"
echo "root's" >etc/passwd
cat >exchange.sh <<END
mv "$theirs/logs/b" "$theirs/logs/c"
ln -s "$work/etc" "$theirs/logs/b"
exit 1
END
for how in "--in-place" "--output copies"; do
  # shellcheck disable=SC2086 # words on purpose
  run 3 symbolize --quiet $how --log "$theirs/logs" --fetch "sh $work/exchange.sh {uuid} {dest}"
  err_has 'logs/b/passwd: Not a directory$'
  [[ ! -e copies/b/passwd ]] || fail "copied through a link: $(cat copies/b/passwd)"
  rm "$theirs/logs/b"
  mv "$theirs/logs/c" "$theirs/logs/b"
done
verdict
