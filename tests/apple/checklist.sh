#!/bin/sh
# SPDX-License-Identifier: MIT
# The device checklist (doc/examples/ios), run on this system. Runs in the folder of the build.
exec tests/apple/run_checklist
