/* SPDX-License-Identifier: MIT */
/* Includes all public headers. Each can also be included alone. */
#ifndef UNSPOOL_UNSPOOL_H
#define UNSPOOL_UNSPOOL_H

#include <unspool/base.h>
#include <unspool/capture.h>
#include <unspool/compact.h>
#include <unspool/crash.h>
#include <unspool/demangle.h>
#include <unspool/dyld_caches.h>
#include <unspool/dyld_extract.h>
#include <unspool/filter.h>
#include <unspool/format.h>
#include <unspool/images.h>
#include <unspool/lines.h>
#include <unspool/monitor.h>
#include <unspool/places.h>
#include <unspool/print.h>
#include <unspool/profile.h>
#include <unspool/profile_file.h>
#include <unspool/raw.h>
#include <unspool/recording.h>
#include <unspool/registers.h>
#include <unspool/report.h>
#include <unspool/sampler.h>
#include <unspool/snapshot.h>
#include <unspool/stack_table.h>
#include <unspool/symbolize.h>
#include <unspool/tasks.h>
#include <unspool/unwind.h>

#endif
