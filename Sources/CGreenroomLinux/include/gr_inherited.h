/* What a launched program inherits from its caller besides descriptors, in the format that is sent
 * to the process that becomes the program: the child of a spawn, or a paused instance.
 * Little-endian, without padding. */
#pragma once

#include <stdint.h>

enum { GR_LIMITS = 16, GR_AFFINITY_WORDS = 16 };

enum gr_inherited_parts {
    GR_INHERITED_LIMITS = 1,
    GR_INHERITED_AFFINITY = 2,
    GR_INHERITED_NO_NEW_PRIVILEGES = 4,
    GR_INHERITED_PERSONALITY = 8, /* only before exec */
    GR_INHERITED_PARTS = 15,
};

struct gr_soft_hard { uint64_t soft, hard; };

struct gr_inherited {
    uint32_t parts;        /* enum gr_inherited_parts */
    uint32_t closed;       /* descriptors 0, 1 and 2 that are closed, one bit each; only at a pause */
    uint32_t fixed_limits; /* resources whose soft limit may not be raised either, one bit each */
    int32_t nice;          /* no effect if below the process's own */
    uint32_t io_priority;  /* ioprio_set(2); 0: none */
    uint32_t personality;
    uint64_t ignored;      /* signals, 1 << (number - 1) */
    uint64_t blocked;
    uint64_t affinity[GR_AFFINITY_WORDS]; /* CPUs, a bit each */
    struct gr_soft_hard limits[GR_LIMITS];
};

_Static_assert(sizeof(struct gr_inherited) == 424, "its size is part of two wire formats");
