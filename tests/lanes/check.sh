# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: what the README tells a newcomer to run: tools/quickstart check
unset USP_REQUIRE_TOOLS # this command is content with what it installs itself
"$top/tools/quickstart" check
