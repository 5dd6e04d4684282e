# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by tests of packages, which run the commands of README.md as they stand there.

# readme_command ROW: prints the commands of the row in README.md's table that begins with this text.
readme_command() { sed -nE "s/^\\| $1[^|]*\\| \`([^\`]+)\` \\|\$/\\1/p" "$top/README.md" | grep .; }
