/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fencepost-mark: markers for shell scripts in a guest; one marker a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fencepost_marker.h"

struct verb {
    const char *name;
    enum fencepost_marker_code code;
    int has_number;
    const char *last; /* what the last argument is; NULL = there is none */
};

static const struct verb verbs[] = {
    {"op-begin", FENCEPOST_MARKER_OP_BEGIN, 1, "TEXT"},
    {"op-end", FENCEPOST_MARKER_OP_END, 1, "RESULT"},
    {"checkpoint", FENCEPOST_MARKER_CHECKPOINT, 1, "TEXT"},
    {"epoch", FENCEPOST_MARKER_EPOCH, 1, NULL},
    {"strand-begin", FENCEPOST_MARKER_STRAND_BEGIN, 1, NULL},
    {"strand-end", FENCEPOST_MARKER_STRAND_END, 1, NULL},
    {"note", FENCEPOST_MARKER_NOTE, 0, "TEXT"},
    {"record-on", FENCEPOST_MARKER_RECORD_ON, 0, NULL},
    {"record-off", FENCEPOST_MARKER_RECORD_OFF, 0, NULL},
};
static const size_t verb_count = sizeof verbs / sizeof *verbs;

static int usage(void)
{
    fputs("usage:\n", stderr);
    for (size_t i = 0; i < verb_count; i++)
        fprintf(stderr, "  fencepost-mark %s%s%s%s\n", verbs[i].name,
                verbs[i].has_number ? " NUMBER" : "", verbs[i].last ? " " : "",
                verbs[i].last ? verbs[i].last : "");
    return 2;
}

static int parse(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 0);
    if (errno == 0 && end != text && *end == '\0')
        return 1;
    fprintf(stderr, "fencepost-mark: '%s' is not a number\n", text);
    return 0;
}

int main(int argc, char **argv)
{
    const struct verb *verb = verbs;
    while (argc > 1 && verb < verbs + verb_count && strcmp(verb->name, argv[1]) != 0)
        verb++;
    if (argc < 2 || verb == verbs + verb_count ||
        argc != 2 + verb->has_number + (verb->last != NULL))
        return usage();
    int64_t number = 0;
    int64_t result = 0;
    if (verb->has_number && !parse(argv[2], &number))
        return 2;
    const int is_result = verb->code == FENCEPOST_MARKER_OP_END;
    if (is_result && !parse(argv[argc - 1], &result))
        return 2;
    const char *text = verb->last && !is_result ? argv[argc - 1] : NULL;
    /* Begin and end come from two processes. */
    fencepost_mark(verb->code | FENCEPOST_MARKER_SHARED, (uint64_t)number, text, (uint64_t)result);
    return 0;
}
