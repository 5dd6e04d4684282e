/* SPDX-License-Identifier: MIT */
/* The one ordered list of frame readers. */
#include "lib/unwind/reader.h"

/* Tables come before what can be told without them: they were written by whoever wrote the code, and they describe code
 * whose instructions show no way to a return. */
const struct uspi_reader_entry uspi_readers[] = {
    {USP_READER_SIGNAL, uspi_read_signal_frame},
    {USP_READER_SIGNAL, uspi_read_darwin_signal_frame},
    {USP_READER_COMPACT, uspi_read_compact},
    {USP_READER_CFI, uspi_read_cfi},
    {USP_READER_EHABI, uspi_read_ehabi},
    {USP_READER_INSTRUCTIONS, uspi_read_instructions},
    {USP_READER_FRAME_RECORD, uspi_read_frame_record},
};

const size_t uspi_reader_count = sizeof uspi_readers / sizeof uspi_readers[0];
