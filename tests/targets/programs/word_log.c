/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See word_log.h. */
#include "word_log.h"

#include "target.h"

void log_word(struct logged_word *record, uint64_t where, uint64_t value)
{
    put(&record->where, where);
    put(&record->value, value);
}

void log_word_streamed(struct logged_word *record, uint64_t where, uint64_t value)
{
    _mm_stream_si64((long long *)&record->where, (long long)where);
    _mm_stream_si64((long long *)&record->value, (long long)value);
}

void log_close(uint64_t *counting, uint64_t count)
{
    put(counting, count);
    persist(counting, sizeof(*counting));
}
