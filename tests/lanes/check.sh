# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: tools/quickstart check, the README's test command
unset USP_REQUIRE_TOOLS # this command needs only what it installs itself
"$top/tools/quickstart" check
