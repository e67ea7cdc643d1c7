/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log of words in PM: records, and how many of them count. Undo or redo is up to its user. */
#ifndef WORD_LOG_H
#define WORD_LOG_H

#include <stdint.h>

struct logged_word {
    uint64_t where; /* a word of the structure that the log is about */
    uint64_t value;
};

/* The record is written and not yet durable. */
void log_word(struct logged_word *record, uint64_t where, uint64_t value);
void log_word_streamed(struct logged_word *record, uint64_t where, uint64_t value);
/* From here on `count` records count, durably. */
void log_close(uint64_t *counting, uint64_t count);

#endif
