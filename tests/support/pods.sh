# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Reads the podspecs, without CocoaPods. Sourced by the tests of the packages, which run it in the project's folder.

# pod_files POD KIND: prints the files that match the patterns of spec.KIND of POD.podspec, one on each line.
pod_files() {
  python3 - "$@" <<'END'
import pathlib, re, sys

pod, kind = sys.argv[1:]
line = re.search(rf"^  spec\.{kind} = (.*)$", pathlib.Path(f"{pod}.podspec").read_text(), re.M)
globs = re.findall(r"'([^']*)'", line[1]) if line else []
print("".join(f"{path}\n" for path in sorted({p for g in globs for p in pathlib.Path().glob(g) if p.is_file()})), end="")
END
}

# pod_sources POD: prints the files that a pod compiles.
pod_sources() {
  LC_ALL=C comm -23 <(pod_files "$1" source_files | LC_ALL=C sort) <(pod_files "$1" exclude_files | LC_ALL=C sort) | grep -v '\.h$'
}
