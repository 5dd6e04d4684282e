#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that all formats of a profile have the same contents, that each conforms to its schema, and that the schema of
# unspool's own format is narrow.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools python3
make_work
export PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import jsonschema' 2>/dev/null; then break; fi
done
status=0
"$python" "$top/tests/profile/formats.py" tests/profile/profile_writer "$top/tests/profile" \
  "$top/doc/schema/profile.schema.json" "$top/tests/profile/profile_writer.c" || status=$?
[[ $status -ne 77 ]] || skip "python3-jsonschema is not installed"
[[ $status -eq 0 ]] || fail "formats.py: exit status $status"
tests/profile/profile_writer json lines >"$work/profile.json"
"$python" "$top/tests/tool/validate.py" "$top/doc/schema/profile.schema.json" "$work/profile.json" ||
  fail "doc/schema/profile.schema.json lets pass what is not described"
verdict
