#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the device checklist (doc/examples/ios) on this system, in the folder of the build.
exec tests/apple/run_checklist
