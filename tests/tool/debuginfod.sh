#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests --debuginfod of `symbolize --log` and `report`. Debian's server has the debug file of a stripped program; other
# servers have nothing, send another build's file, or do not answer. Hostile ones lead elsewhere, lie about sizes or never
# end. Without the option the command must ask no server.
# Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc strip objcopy readelf nm python3 debuginfod
grep -q '^#define HAVE_LIBDEBUGINFOD 1' config.h || skip 'this build has no libdebuginfod'
cd "$work"
unset UNSPOOL_INDEX_STORE DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
export HOME=$work/home XDG_CACHE_HOME=$work/cache no_proxy='*'

echo 'int answer(int a) { return a * 42; }' >lib.c
gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o lib lib.c
gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=0x00112233445566778899aabbccddeeff -o other lib.c
mkdir served nothing
objcopy --only-keep-debug lib served/lib.debug
id=$(readelf -n lib | sed -n 's/.*Build ID: //p')
arch=$(uname -m)
[[ $arch != aarch64 ]] || arch=arm64
offset=$((16#$(nm lib | awk '$3 == "answer" { print $1 }') + 2))
printf 'Process: lib [1]\n\nThread 0 Crashed:\n0   lib  0x%016x 0x10000000 + %d\n\nBinary Images:\n0x10000000 - 0x10ffffff lib %s <%s> /gone/lib\n' \
  $((0x10000000 + offset)) "$offset" "$arch" "$id" >report

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
servers=()
# shellcheck disable=SC2317 # by the trap
end() {
  kill "${servers[@]}" 2>/dev/null || :
  rm -rf "$work"
}
trap end EXIT

# ---- a server whose answers depend on its URL; it appends its requests to `asked`
port=$(free_port)
python3 - "$port" <<'END' &
import gzip, http.server, os, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    def hostile(self, how):
        """Answers as a hostile server. Returns False for other servers."""
        def head(status, *headers):
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
        right = open("served/lib.debug", "rb").read()
        if how == "to-file":
            head(302, ("Location", "file://" + os.path.abspath("served/lib.debug")))
        elif how == "to-host":
            head(302, ("Location", f"http://localhost:{sys.argv[1]}/other/a"))
        elif how == "to-itself":
            head(302, ("Location", self.path))
        elif how == "cut":
            head(200, ("Content-Length", str(len(right))))
            self.wfile.write(right[:len(right) // 2])
        elif how == "huge":
            head(200, ("Content-Length", str(1 << 40)))
            self.wfile.write(right)
            time.sleep(100)
        elif how == "endless":
            head(200)
            while True:
                self.wfile.write(right[:4096].ljust(4096, b"x"))
        elif how == "slow":
            head(200, ("Content-Length", str(len(right))))
            for byte in right:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)
        elif how == "bomb":
            packed = gzip.compress(right + bytes(50 << 20))
            head(200, ("Content-Encoding", "gzip"), ("Content-Length", str(len(packed))))
            self.wfile.write(packed)
        elif how == "names":
            head(200, ("Content-Length", str(len(right))), ("X-DEBUGINFOD-FILE", "../../../outside"),
                 ("X-DEBUGINFOD-ARCHIVE", "../outside"), ("Content-Disposition", "attachment; filename=../../outside"))
            self.wfile.write(right)
        else:
            return False
        return True

    def do_GET(self):
        with open("asked", "a") as asked:
            asked.write(self.path + "\n")
        how = self.path.split("/")[1]
        try:
            if self.hostile(how):
                return
        except OSError:
            return  # the client has closed the connection
        if how == "hang":
            time.sleep(1000)
        body = open("other", "rb").read() if how == "other" else b""
        self.send_response({"none": 404, "fail": 500}.get(how, 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
servers+=($!)
# shellcheck disable=SC2317,SC2329 # called by wait_until
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
wait_until answers || fail "the server does not answer"

# ask HOW: symbolicates a report with this answer of the server.
ask() {
  rm -rf asked cache
  : >asked
  DEBUGINFOD_URLS=http://127.0.0.1:$port/$1 DEBUGINFOD_RETRY_LIMIT=1 run 0 "${command[@]}" "${@:2}"
}
for command in 'symbolize --log report' 'report report'; do
  read -ra command <<<"$command"
  ask none --search nothing
  [[ ! -s asked ]] || fail "${command[*]}: a server was asked without --debuginfod: $(cat asked)"

  ask none --debuginfod
  err_has "^unspool: lib $id: --debuginfod: no server has it"
  [[ $(cat asked) == "/none/buildid/$id/debuginfo"$'\n'"/none/buildid/$id/executable" ]] || fail "asked for $(cat asked)"
  ask fail --debuginfod
  err_has "^unspool: lib $id: --debuginfod: "
  ask other --debuginfod
  err_has "^unspool: lib $id: --debuginfod: a server sent the file of another build"
  out_lacks answer
  # libdebuginfod has cached the wrong file: cached files are checked, too.
  run 0 "${command[@]}" --debuginfod
  out_lacks answer
  ask hang --debuginfod --fetch-timeout 1
  err_has "^unspool: lib $id: --debuginfod: has not ended within 1 seconds"
  run 0 "${command[@]}" --debuginfod
  err_has "^unspool: lib $id: --debuginfod: .DEBUGINFOD_URLS names no server; nothing is fetched"
  run 2 "${command[@]}" --debuginfod --fetch 'cp {uuid} {dest}'
  err_has 'not together'
done
run 2 symbolize -o lib --debuginfod 0x10

# ---- hostile servers. A file of more than a megabyte is refused.
command=(symbolize --log report)
export DEBUGINFOD_MAXSIZE=1000000
# refused HOW MESSAGE: asks such a server. Nothing large is left in the cache.
refused() {
  ask "$1" --debuginfod --fetch-timeout "${3:-300}"
  err_has "^unspool: lib $id: --debuginfod: $2"
  out_lacks answer
  [[ -z $(find cache -size +1000k) ]] || fail "$1: in the cache: $(find cache -size +1000k -ls)"
  [[ -z $(find . -name outside) ]] || fail "$1: a file outside of the cache"
}
refused to-file .
refused to-host 'a server sent the file of another build'
refused to-itself . 1
refused cut .
refused huge 'a file of more than 1000000 bytes; .DEBUGINFOD_MAXSIZE can allow it'
refused endless .
refused bomb .
refused slow 'has not ended within 1 seconds' 1
# Names that a server gives are not used.
ask names --debuginfod
out_has 'answer \+ 2 \(lib.c:1\)'
[[ -z $(find . -name outside) ]] || fail "a server gave a file's name"
unset DEBUGINFOD_MAXSIZE
# Nor are names that a log gives in the place of a build id.
sed "s/<$id>/<..\/..\/outside>/" report >names
command=(symbolize --log names)
ask none --debuginfod
[[ ! -s asked ]] || fail "a server was asked for a name of a log: $(cat asked)"

# ---- Debian's server
port=$(free_port)
debuginfod -F -p "$port" -d :memory: served >server 2>&1 &
servers+=($!)
export DEBUGINFOD_URLS=http://127.0.0.1:$port
# The server reads the folder first. The cache would keep a negative answer for minutes.
# shellcheck disable=SC2317,SC2329 # called by wait_until
names_answer() {
  rm -rf cache
  "$unspool" symbolize --log report --debuginfod --quiet >out
  grep -q answer out
}
wait_until names_answer || :
grep -q 'answer + 2 (lib.c:1)' out || fail "nothing came from debuginfod: $(cat out server)"
find cache -type f -size +0 | grep -c "^cache/debuginfod_client/.*$id" >/dev/null || fail "its cache has no such file: $(find cache)"
[[ ! -e cache/unspool/fetched ]] || fail "there is a second cache: $(find cache)"
kill "${servers[@]}"
# A stripped file must not hide the debug file.
mkdir stripped-files
strip -o stripped-files/lib lib
run 0 report --search stripped-files --debuginfod report
out_has 'answer \+ 2 \(lib.c:1\)'
# From the cache, also from another one if the user wants that.
run 0 report --debuginfod report
out_has 'answer \+ 2 \(lib.c:1\)'
mv cache/debuginfod_client elsewhere
run 0 report --debuginfod --fetch-cache elsewhere report
out_has 'answer \+ 2 \(lib.c:1\)'
DEBUGINFOD_CACHE_PATH=$work/elsewhere run 0 report --debuginfod report
out_has 'answer \+ 2 \(lib.c:1\)'
verdict
