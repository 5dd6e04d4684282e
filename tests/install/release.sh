#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests tools/release: two clones of the same commit, in other folders, on other days, with other permissions and time
# zones, give the same files. Leaves the first clone's files in the folder of the argument. Run by the lane release.
#   tests/install/release.sh FOLDER VENV    VENV: a virtual environment with spdx-tools
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
need_tools faketime ruby
make_work
files=${1:?usage: release.sh FOLDER VENV} venv=${2:?usage: release.sh FOLDER VENV}
mkdir -p "$files"
files=$(cd "$files" && pwd)

version=$(project_version)
for clone in one two/with-another-name; do
  git -c safe.directory="$top" clone -q "$top" "$work/$clone"
  # What make dist writes follows what is committed.
  git -C "$work/$clone" checkout -q "$(git -C "$top" -c safe.directory="$top" rev-parse HEAD)"
done
"$work/one/tools/release" --output "$files" >"$work/one.log" 2>&1 || fail "the first: $(tail -n 20 "$work/one.log")"
find "$work/two" -exec touch -h -d '2001-02-03 04:05:06' {} +
(
  umask 077
  export TZ=Asia/Tokyo LC_ALL=C.UTF-8
  faketime -f +40d "$work/two/with-another-name/tools/release" --output "$work/second"
) >"$work/two.log" 2>&1 || fail "the second: $(tail -n 20 "$work/two.log")"
[[ $failures -eq 0 ]] || verdict

(cd "$files" && sha256sum -c --quiet SHA256SUMS) || fail "SHA256SUMS is not that of the files"
diff -r "$files" "$work/second" || fail "another folder on another day gives other files"
[[ $(wc -c <"$files/unspool-$version.tar.xz") -gt 1000000 ]] || fail "the archive is small"
grep -q '^The first release: ' "$files/NOTES" || fail "NOTES is not the text of NEWS"
! grep -qE '^-+$|not released' "$files/NOTES" || fail "NOTES has a title"
"$venv/bin/pyspdxtools" -i "$files/unspool-$version.spdx.json" || fail "the SBOM is not valid"
ruby -c "$files/unspool.rb" >/dev/null || fail "unspool.rb is no Ruby"
for text in "$(sed -n 's/ .*tar.xz$//p' "$files/SHA256SUMS")" 'git tag -s' 'gpg --armor --detach-sign'; do
  grep -qF -- "$text" "$work/one.log" || fail "tools/release does not print: $text"
done
# A validator that accepts everything would prove nothing.
sed 's/"SPDX-2.3"/"SPDX-2.9"/' "$files/unspool-$version.spdx.json" >"$work/wrong.spdx.json"
! "$venv/bin/pyspdxtools" -i "$work/wrong.spdx.json" >/dev/null 2>&1 || fail "a wrong SBOM is accepted"
# Uncommitted changes are refused.
echo >>"$work/one/NEWS"
! "$work/one/tools/release" >"$work/refused" 2>&1 || fail "uncommitted changes are not refused"
grep -q 'not committed' "$work/refused" || fail "the refusal says $(cat "$work/refused")"
verdict
