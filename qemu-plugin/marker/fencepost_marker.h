/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Markers: notes that a program or kernel module leaves in the trace of the machine it runs in. A
 * marker is one `nop` with a magic displacement; what it says is in registers. Outside a recording
 * it does nothing, at the cost of a few moves. Needs no library, no privilege and no recompiled
 * kernel.
 */
#ifndef FENCEPOST_MARKER_H
#define FENCEPOST_MARKER_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

/* The displacement of the nop: 0f 1f 84 00 and these four bytes, little-endian. */
#define FENCEPOST_MARKER_MAGIC 0x66706d6bu
/* Texts are cut here. */
#define FENCEPOST_MARKER_TEXT_MAX 4096

/* What a marker says, in rax. These numbers never change. */
enum fencepost_marker_code {
    FENCEPOST_MARKER_OP_BEGIN = 1,
    FENCEPOST_MARKER_OP_END = 2,
    FENCEPOST_MARKER_CHECKPOINT = 3,
    FENCEPOST_MARKER_EPOCH = 4,
    FENCEPOST_MARKER_STRAND_BEGIN = 5,
    FENCEPOST_MARKER_STRAND_END = 6,
    FENCEPOST_MARKER_RANGE = 7,
    FENCEPOST_MARKER_RECORD_ON = 8,
    FENCEPOST_MARKER_RECORD_OFF = 9,
    FENCEPOST_MARKER_NOTE = 10,
    FENCEPOST_MARKER_SYSCALLS_ON = 11,
    FENCEPOST_MARKER_SYSCALLS_OFF = 12,
    FENCEPOST_MARKER_WORKLOAD_END = 13
};
/* Added to a code: the marker belongs to no process, so that several can mark one operation. */
#define FENCEPOST_MARKER_SHARED 0x100u

/* rdi: number, or address of a range; rsi, rdx: text and its length; rcx: result, or size of a
 * range. */
static inline void fencepost_mark(uint64_t code, uint64_t number, const char *text, uint64_t value)
{
    /* Read byte by byte, so that all of the text is in memory when the tracer looks for it. */
    const volatile char *bytes = text;
    uint64_t length = 0;
    if (text)
        while (length < FENCEPOST_MARKER_TEXT_MAX && bytes[length])
            length++;
    __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long %c[magic]"
                     :
                     : [magic] "i"(FENCEPOST_MARKER_MAGIC), "a"(code), "D"(number), "S"(text),
                       "d"(length), "c"(value)
                     : "memory");
}

/* An operation of the workload: what it is, and later what it returned. The same number pairs them.
 */
static inline void fencepost_op_begin(uint64_t number, const char *text)
{
    fencepost_mark(FENCEPOST_MARKER_OP_BEGIN, number, text, 0);
}

static inline void fencepost_op_end(uint64_t number, int64_t result)
{
    fencepost_mark(FENCEPOST_MARKER_OP_END, number, 0, (uint64_t)result);
}

/* A checkpoint with this text: what came before prepares the test, and power does not fail in it.
 */
#define FENCEPOST_MARK_TEXT "mark"

/* A place of interest, for example where everything so far should be durable. */
static inline void fencepost_checkpoint(uint64_t number, const char *text)
{
    fencepost_mark(FENCEPOST_MARKER_CHECKPOINT, number, text, 0);
}

/* Epochs and strands of programs written for such a persistence model. */
/* Begins an epoch; its number is not 0. Epochs nest, and the outermost counts. */
static inline void fencepost_epoch(uint64_t number)
{
    fencepost_mark(FENCEPOST_MARKER_EPOCH, number, 0, 0);
}

/* Ends the epoch that began last. */
static inline void fencepost_epoch_end(void)
{
    fencepost_mark(FENCEPOST_MARKER_EPOCH, 0, 0, 0);
}

static inline void fencepost_strand_begin(uint64_t number)
{
    fencepost_mark(FENCEPOST_MARKER_STRAND_BEGIN, number, 0, 0);
}

static inline void fencepost_strand_end(uint64_t number)
{
    fencepost_mark(FENCEPOST_MARKER_STRAND_END, number, 0, 0);
}

/* A name for `bytes` bytes at `address`, in the caller's address space. Pages that were not touched
 * yet have no place. */
static inline void fencepost_range(const void *address, size_t bytes, const char *name)
{
    fencepost_mark(FENCEPOST_MARKER_RANGE, (uint64_t)address, name, bytes);
}

/* From here on events are recorded, or not; markers are recorded always. */
static inline void fencepost_record_on(void)
{
    fencepost_mark(FENCEPOST_MARKER_RECORD_ON, 0, 0, 0);
}

static inline void fencepost_record_off(void)
{
    fencepost_mark(FENCEPOST_MARKER_RECORD_OFF, 0, 0, 0);
}

static inline void fencepost_note(const char *text)
{
    fencepost_mark(FENCEPOST_MARKER_NOTE, 0, text, 0);
}

/* For the guest agent: between the two, system calls of all processes but the caller are recorded.
 */
static inline void fencepost_syscalls_on(void)
{
    fencepost_mark(FENCEPOST_MARKER_SYSCALLS_ON, 0, 0, 0);
}

static inline void fencepost_syscalls_off(void)
{
    fencepost_mark(FENCEPOST_MARKER_SYSCALLS_OFF, 0, 0, 0);
}

/* For the guest agent: nothing is recorded any more, markers neither. */
static inline void fencepost_workload_end(void)
{
    fencepost_mark(FENCEPOST_MARKER_WORKLOAD_END, 0, 0, 0);
}

#endif
