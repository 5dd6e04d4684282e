/* SPDX-License-Identifier: MIT */
/* Reads the file of --binary-images, which lists images for logs that do not list them. */
#ifndef TOOLS_LOG_IMAGES_H
#define TOOLS_LOG_IMAGES_H

#include <unspool/report.h>

/* Reads the images in any form in which a log may list them. Complains, also if there are none. After success the
 * caller frees *reader. Returns an enum exit_status. */
int log_images_read(const char *path, struct usp_reader **reader);

#endif
