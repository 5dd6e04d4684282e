/* SPDX-License-Identifier: MIT */
/* The file of --binary-images: what tells the images of logs that do not tell them themselves. */
#ifndef TOOL_LOG_IMAGES_H
#define TOOL_LOG_IMAGES_H

#include <unspool/report.h>

/* Learns the images in any form in which a log may tell them. Complains, also when there are none. On success *reader is the
 * caller's to free. Returns an enum exit_status. */
int log_images_read(const char *path, struct usp_reader **reader);

#endif
