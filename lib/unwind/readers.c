/* SPDX-License-Identifier: MIT */
/* The one ordered list of frame readers. */
#include "lib/unwind/reader.h"

const struct uspi_reader_entry uspi_readers[] = {
    {USP_READER_SIGNAL, uspi_read_signal_frame},
    {USP_READER_INSTRUCTIONS, uspi_read_instructions},
    {USP_READER_FRAME_RECORD, uspi_read_frame_record},
};

const size_t uspi_reader_count = sizeof uspi_readers / sizeof uspi_readers[0];
