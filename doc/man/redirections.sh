#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages that document several functions are found under each of their names. Prints a line "NAME PAGE" for each name
# in a page's NAME section that is not the page's own; make installs a redirection for it.
#   redirections.sh FOLDER_OF_PAGES
set -eu
for page in "$1"/usp_*.3; do
  own=$(basename "$page" .3)
  sed -n '/^\.SH NAME/,/^\.SH SYNOPSIS/p' "$page" | sed '1d;$d' | tr '\n' ' ' | sed 's/\\-.*/\n/' | tr ',' '\n' | tr -d ' ' |
    while read -r name; do
      if [ -n "$name" ] && [ "$name" != "$own" ]; then echo "$name $own"; fi
    done
done
