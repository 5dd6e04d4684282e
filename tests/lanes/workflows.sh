# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: the workflows for a Mac are valid, pinned and safe (zizmor, check-jsonschema); their steps that Linux can run
need clang-19 python3 python3-venv
venv=$(python_tools workflows 'zizmor==1.* check-jsonschema<1')
cd "$top" || exit
files=(.github/workflows/*.yml)
"$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows "${files[@]}"
"$venv/bin/zizmor" --offline --no-progress --persona=pedantic "${files[@]}"
# Both must notice a fault.
mkdir -p "$work/.github/workflows"
wrong=$work/.github/workflows/wrong.yml
sed 's/runs-on:/runs-upon:/' "${files[0]}" >"$wrong"
if "$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows "$wrong" >/dev/null; then exit 1; fi
sed 's/@[0-9a-f]\{40\}.*/@v5/' "${files[0]}" >"$wrong"
if "$venv/bin/zizmor" --offline --no-progress "$wrong" >/dev/null 2>&1; then exit 1; fi
# Every step is a step of the script, and the script has every step.
grep -hoE 'run: .*' "${files[@]}" | sed 's/run: //' | sort -u >"$work/steps"
sed -nE 's/^#   (tests\/apple\/mac\.sh [a-z]+) .*/\1/p' tests/apple/mac.sh | grep -v ' objects$' | sort | diff - "$work/steps"
PATH=$top/tests/apple:$PATH tests/apple/mac.sh objects
