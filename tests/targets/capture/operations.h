/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every form in which x86-64 code stores to, flushes and fences PM, each followed by a record of
 * it. No function of a library is called in between.
 */
#pragma once

#include "capture_log.h"

#define CLOBBERS "memory", "cc", "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8"

/* One instruction that stores `size` bytes in pieces of `piece`, at a line's beginning and
 * elsewhere. */
#define STORE_AS(kind, subkind, size, piece, atomic, misaligned, ...)                              \
    do {                                                                                           \
        uint8_t *p = capture_place(c, size, misaligned);                                           \
        uint64_t v = capture_value(c);                                                             \
        __asm__ volatile(__VA_ARGS__ : : [p] "r"(p), [v] "r"(v) : CLOBBERS);                       \
        for (unsigned at = 0; at < (size); at += (piece))                                          \
            capture_stored(c, __LINE__, kind, subkind, p + at, piece, atomic);                     \
    } while (0)
#define STORE(size, ...)                                                                           \
    do {                                                                                           \
        STORE_AS("store", "plain", size, size, 0, 0, __VA_ARGS__);                                 \
        STORE_AS("store", "plain", size, size, 0, 3, __VA_ARGS__);                                 \
        STORE_AS("store", "plain", size, size, 0, 64 - (size) / 2, __VA_ARGS__);                   \
    } while (0)
#define ALIGNED_STORE(size, ...) STORE_AS("store", "plain", size, size, 0, 0, __VA_ARGS__)
#define NT_STORE(size, ...)                                                                        \
    STORE_AS("nt_store", "movnt", size, (size) > 16 ? 16 : (size), 0, 0, __VA_ARGS__)
#define LOCKED(size, fence_kind, ...)                                                              \
    do {                                                                                           \
        capture_add(c, __LINE__, "fence", fence_kind);                                             \
        STORE_AS("store", "plain", size, size, 1, 0, __VA_ARGS__);                                 \
    } while (0)
/* Some number of stores within `size` bytes, which hold 0xa5 before. */
#define MANY(size, ...)                                                                            \
    do {                                                                                           \
        uint8_t *p = capture_place(c, size, 0);                                                    \
        uint64_t v = capture_value(c);                                                             \
        for (unsigned i = 0; i < (size); i++) {                                                    \
            ((volatile uint8_t *)p)[i] = 0xa5;                                                     \
            capture_stored(c, __LINE__, "store", "plain", p + i, 1, 0);                            \
        }                                                                                          \
        __asm__ volatile(__VA_ARGS__ : : [p] "r"(p), [v] "r"(v) : CLOBBERS);                       \
        capture_stored(c, __LINE__, "many", "plain", p, size, 0);                                  \
    } while (0)
#define FLUSH(kind, where, ...)                                                                    \
    do {                                                                                           \
        __asm__ volatile(__VA_ARGS__ : : [p] "r"(c->base), [i] "r"(64ul) : CLOBBERS);              \
        capture_add(c, __LINE__, "flush", kind)->offset = (where);                                 \
    } while (0)
#define FENCE(kind, ...)                                                                           \
    do {                                                                                           \
        __asm__ volatile(__VA_ARGS__ : : : CLOBBERS);                                              \
        capture_add(c, __LINE__, "fence", kind);                                                   \
    } while (0)

static inline __attribute__((always_inline)) void general_stores(struct capture *c)
{
    STORE(1, "movb %b[v], (%[p])");
    STORE(2, "movw %w[v], (%[p])");
    STORE(4, "movl %k[v], (%[p])");
    STORE(8, "movq %[v], (%[p])");
    STORE(1, "movb $0x5a, (%[p])");
    STORE(2, "movw $0x5a5a, (%[p])");
    STORE(4, "movl $0x12345678, (%[p])");
    STORE(8, "movq $-2, (%[p])");
    STORE(8, "mov $2, %%ecx\n lea -16(%[p]), %%rdx\n movq %[v], (%%rdx,%%rcx,8)");
    STORE(8, "lea -0x1000(%[p]), %%rdx\n movq %[v], 0x1000(%%rdx)");
    STORE(2, "movbe %w[v], (%[p])");
    STORE(4, "movbe %k[v], (%[p])");
    STORE(8, "movbe %[v], (%[p])");
    STORE(2, "movw %%ds, (%[p])");
    STORE(1, "cmp %%rax, %%rax\n sete (%[p])");
    STORE(4, "addl %k[v], (%[p])");
    STORE(8, "addq %[v], (%[p])");
    STORE(8, "subq %[v], (%[p])");
    STORE(8, "adcq %[v], (%[p])");
    STORE(8, "sbbq %[v], (%[p])");
    STORE(8, "orq %[v], (%[p])");
    STORE(8, "andq %[v], (%[p])");
    STORE(1, "xorb $0xff, (%[p])");
    STORE(8, "xorq %[v], (%[p])");
    STORE(2, "incw (%[p])");
    STORE(8, "decq (%[p])");
    STORE(4, "notl (%[p])");
    STORE(8, "negq (%[p])");
    STORE(8, "shlq $3, (%[p])");
    STORE(4, "shrl $1, (%[p])");
    STORE(8, "sarq $5, (%[p])");
    STORE(8, "rolq $7, (%[p])");
    STORE(2, "rcrw $1, (%[p])");
    STORE(8, "shldq $9, %[v], (%[p])");
    STORE(8, "shrdq $9, %[v], (%[p])");
    STORE(8, "btsq $5, (%[p])");
    STORE(8, "btrq $6, (%[p])");
    STORE(4, "btcl $7, (%[p])");
    STORE(8, "pushq %[v]\n popq (%[p])");
    STORE(8, "xaddq %[v], (%[p])");
    STORE(8, "movq (%[p]), %%rax\n cmpxchgq %[v], (%[p])");
    STORE(8, "movq (%[p]), %%rax\n inc %%rax\n cmpxchgq %[v], (%[p])");
    STORE(8, "movl (%[p]), %%eax\n movl 4(%[p]), %%edx\n mov %k[v], %%ebx\n mov $7, %%ecx\n "
             "cmpxchg8b (%[p])");
    ALIGNED_STORE(16, "movq (%[p]), %%rax\n movq 8(%[p]), %%rdx\n mov %[v], %%rbx\n mov $9, "
                      "%%ecx\n cmpxchg16b (%[p])");
}

static inline __attribute__((always_inline)) void string_stores(struct capture *c)
{
    STORE(1, "mov %[p], %%rdi\n mov %[v], %%rax\n stosb");
    STORE(2, "mov %[p], %%rdi\n mov %[v], %%rax\n stosw");
    STORE(4, "mov %[p], %%rdi\n mov %[v], %%rax\n stosl");
    STORE(8, "mov %[p], %%rdi\n mov %[v], %%rax\n stosq");
    STORE(8, "push %[v]\n mov %[p], %%rdi\n mov %%rsp, %%rsi\n movsq\n pop %%rax");
    STORE_AS("store", "plain", 77, 1, 0, 5,
             "mov %[p], %%rdi\n mov %[v], %%rax\n mov $77, %%ecx\n rep stosb");
    STORE_AS("store", "plain", 80, 8, 0, 9,
             "mov %[p], %%rdi\n mov %[v], %%rax\n mov $10, %%ecx\n rep stosq");
    STORE_AS("store", "plain", 66, 2, 0, 0,
             "mov %[p], %%rdi\n mov %[v], %%rax\n mov $33, %%ecx\n rep stosw");
    STORE_AS("store", "plain", 48, 4, 0, 0,
             "sub $64, %%rsp\n mov %[v], (%%rsp)\n mov %%rsp, %%rsi\n mov %[p], %%rdi\n mov $12, "
             "%%ecx\n rep movsl\n "
             "add $64, %%rsp");
    STORE_AS("store", "plain", 19, 1, 0, 60,
             "sub $64, %%rsp\n mov %[v], (%%rsp)\n mov %%rsp, %%rsi\n mov %[p], %%rdi\n mov $19, "
             "%%ecx\n rep movsb\n "
             "add $64, %%rsp");
    /* Backwards: the highest piece first. */
    {
        uint8_t *p = capture_place(c, 40, 0);
        uint64_t v = capture_value(c);
        __asm__ volatile(
            "lea 32(%[p]), %%rdi\n mov %[v], %%rax\n mov $5, %%ecx\n std\n rep stosq\n cld"
            :
            : [p] "r"(p), [v] "r"(v)
            : CLOBBERS);
        for (int at = 32; at >= 0; at -= 8)
            capture_stored(c, __LINE__, "store", "plain", p + at, 8, 0);
    }
    /* None at all. */
    __asm__ volatile("mov %[p], %%rdi\n xor %%ecx, %%ecx\n rep stosb"
                     :
                     : [p] "r"(c->base)
                     : CLOBBERS);
}

static inline __attribute__((always_inline)) void vector_stores(struct capture *c)
{
    STORE(4, "movd %k[v], %%xmm0\n movd %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%xmm0\n movq %%xmm0, (%[p])");
    STORE(4, "movq %[v], %%xmm0\n movss %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%xmm0\n movsd %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%xmm0\n movlps %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%xmm0\n movhpd %%xmm0, (%[p])");
    STORE(16, "movq %[v], %%xmm0\n movups %%xmm0, (%[p])");
    STORE(16, "movq %[v], %%xmm0\n movdqu %%xmm0, (%[p])");
    ALIGNED_STORE(16, "movq %[v], %%xmm0\n movaps %%xmm0, (%[p])");
    ALIGNED_STORE(16, "movq %[v], %%xmm0\n movdqa %%xmm0, (%[p])");
    STORE(1, "movq %[v], %%xmm0\n pextrb $3, %%xmm0, (%[p])");
    STORE(2, "movq %[v], %%xmm0\n pextrw $1, %%xmm0, (%[p])");
    STORE(4, "movq %[v], %%xmm0\n pextrd $1, %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%xmm0\n pextrq $0, %%xmm0, (%[p])");
    STORE(4, "movq %[v], %%xmm0\n extractps $1, %%xmm0, (%[p])");
    STORE(8, "movq %[v], %%mm0\n movq %%mm0, (%[p])\n emms");
    STORE(4, "movq %[v], %%xmm0\n vmovd %%xmm0, (%[p])");
    STORE(16, "movq %[v], %%xmm0\n vmovdqu %%xmm0, (%[p])");
    STORE(16, "vmovq %[v], %%xmm0\n vextracti128 $0, %%ymm0, (%[p])");
    STORE_AS("store", "plain", 32, 16, 0, 0,
             "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovdqa %%ymm0, (%[p])");
    STORE_AS("store", "plain", 32, 16, 0, 7,
             "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovdqu %%ymm0, (%[p])");
    STORE_AS("store", "plain", 32, 16, 0, 40,
             "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovups %%ymm0, (%[p])");
    /* Only elements whose mask is set: all of them here, none after. */
    STORE_AS(
        "store", "plain", 16, 4, 0, 0,
        "vmovq %[v], %%xmm0\n vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n vpmaskmovd %%xmm0, %%xmm1, (%[p])");
    STORE_AS(
        "store", "plain", 32, 8, 0, 0,
        "vmovq %[v], %%xmm0\n vpcmpeqd %%ymm1, %%ymm1, %%ymm1\n vmaskmovpd %%ymm0, %%ymm1, (%[p])");
    __asm__ volatile("vpxor %%xmm1, %%xmm1, %%xmm1\n vmaskmovps %%xmm0, %%xmm1, (%[p])\n vzeroupper"
                     :
                     : [p] "r"(c->base)
                     : CLOBBERS);
}

static inline __attribute__((always_inline)) void x87_and_state_stores(struct capture *c)
{
    STORE(4, "fld1\n fstps (%[p])");
    STORE(8, "fldpi\n fstpl (%[p])");
    STORE(2, "fld1\n fistps (%[p])");
    STORE(4, "fld1\n fistpl (%[p])");
    STORE(8, "fld1\n fistpq (%[p])");
    STORE(2, "fnstcw (%[p])");
    STORE(2, "fnstsw (%[p])");
    STORE(4, "stmxcsr (%[p])");
    MANY(10, "fldpi\n fstpt (%[p])");
    MANY(10, "fld1\n fbstp (%[p])");
    MANY(28, "fnstenv (%[p])\n fldenv (%[p])");
    MANY(512, "fxsave64 (%[p])");
    MANY(832, "mov $7, %%eax\n xor %%edx, %%edx\n xsave64 (%[p])");
    MANY(832, "mov $7, %%eax\n xor %%edx, %%edx\n xsaveopt64 (%[p])");
}

static inline __attribute__((always_inline)) void non_temporal_stores(struct capture *c)
{
    NT_STORE(4, "movnti %k[v], (%[p])");
    NT_STORE(8, "movnti %[v], (%[p])");
    NT_STORE(8, "movq %[v], %%mm0\n movntq %%mm0, (%[p])\n emms");
    NT_STORE(16, "movq %[v], %%xmm0\n movntdq %%xmm0, (%[p])");
    NT_STORE(16, "movq %[v], %%xmm0\n movntps %%xmm0, (%[p])");
    NT_STORE(16, "movq %[v], %%xmm0\n movntpd %%xmm0, (%[p])");
    NT_STORE(4, "movq %[v], %%xmm0\n movntss %%xmm0, (%[p])");
    NT_STORE(8, "movq %[v], %%xmm0\n movntsd %%xmm0, (%[p])");
    NT_STORE(16, "vmovq %[v], %%xmm0\n vmovntdq %%xmm0, (%[p])");
    NT_STORE(16, "vmovq %[v], %%xmm0\n vmovntps %%xmm0, (%[p])");
    NT_STORE(32, "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovntdq %%ymm0, (%[p])");
    NT_STORE(32, "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovntps %%ymm0, (%[p])");
    NT_STORE(
        32,
        "vmovq %[v], %%xmm0\n vpbroadcastq %%xmm0, %%ymm0\n vmovntpd %%ymm0, (%[p])\n vzeroupper");
    STORE_AS(
        "nt_store", "maskmov", 16, 1, 0, 0,
        "movq %[v], %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n mov %[p], %%rdi\n maskmovdqu %%xmm1, %%xmm0");
    STORE_AS("nt_store", "maskmov", 16, 1, 0, 0,
             "vmovq %[v], %%xmm0\n vpcmpeqd %%xmm1, %%xmm1, %%xmm1\n mov %[p], %%rdi\n vmaskmovdqu "
             "%%xmm1, %%xmm0");
    STORE_AS(
        "nt_store", "maskmov", 8, 1, 0, 0,
        "movq %[v], %%mm0\n pcmpeqd %%mm1, %%mm1\n mov %[p], %%rdi\n maskmovq %%mm1, %%mm0\n emms");
    STORE_AS("nt_store", "maskmov", 8, 1, 0, 0,
             "movq %[v], %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n movq %%xmm1, %%xmm1\n mov %[p], %%rdi\n "
             "maskmovdqu %%xmm1, %%xmm0");
}

static inline __attribute__((always_inline)) void locked_stores(struct capture *c)
{
    LOCKED(1, "lock_rmw", "lock incb (%[p])");
    LOCKED(4, "lock_rmw", "lock addl %k[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock addq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock subq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock orq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock andq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock xorq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock notq (%[p])");
    LOCKED(8, "lock_rmw", "lock negq (%[p])");
    LOCKED(8, "lock_rmw", "lock decq (%[p])");
    LOCKED(8, "lock_rmw", "lock adcq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "lock btsq $4, (%[p])");
    LOCKED(8, "lock_rmw", "lock btrq $4, (%[p])");
    LOCKED(8, "lock_rmw", "lock btcq $4, (%[p])");
    LOCKED(8, "lock_rmw", "lock xaddq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "movq (%[p]), %%rax\n lock cmpxchgq %[v], (%[p])");
    LOCKED(8, "lock_rmw", "movq (%[p]), %%rax\n inc %%rax\n lock cmpxchgq %[v], (%[p])");
    LOCKED(8, "lock_rmw",
           "movl (%[p]), %%eax\n movl 4(%[p]), %%edx\n mov %k[v], %%ebx\n mov $7, %%ecx\n lock "
           "cmpxchg8b (%[p])");
    LOCKED(16, "lock_rmw",
           "movq (%[p]), %%rax\n movq 8(%[p]), %%rdx\n mov %[v], %%rbx\n mov $9, %%ecx\n lock "
           "cmpxchg16b (%[p])");
    LOCKED(1, "xchg", "mov %[v], %%rax\n xchgb %%al, (%[p])");
    LOCKED(8, "xchg", "mov %[v], %%rax\n xchgq %%rax, (%[p])");
    LOCKED(4, "xchg", "mov %[v], %%rax\n lock xchgl %%eax, (%[p])");
    /* Of memory that is not PM: the fence alone. */
    FENCE("lock_rmw", "lock addl $0, -64(%%rsp)");
    FENCE("xchg", "mov %%rsp, %%rdx\n xchgq %%rax, -64(%%rdx)");
}

static inline __attribute__((always_inline)) void crossing_stores(struct capture *c)
{
    uint8_t *p = c->base + 4096 - 3;
    uint64_t v = capture_value(c);
    __asm__ volatile("movq %[v], (%[p])" : : [p] "r"(p), [v] "r"(v) : CLOBBERS);
    capture_stored(c, __LINE__, "store", "plain", p, 8, 0);
    p = c->base + 2 * 4096 - 15;
    __asm__ volatile("movq %[v], %%xmm0\n movdqu %%xmm0, (%[p])"
                     :
                     : [p] "r"(p), [v] "r"(v)
                     : CLOBBERS);
    capture_stored(c, __LINE__, "store", "plain", p, 16, 0);
    p = c->base + 4096 - 1;
    __asm__ volatile("lock addw %w[v], (%[p])" : : [p] "r"(p), [v] "r"(v) : CLOBBERS);
    capture_add(c, __LINE__, "fence", "lock_rmw");
    capture_stored(c, __LINE__, "store", "plain", p, 2, 1);
}

static inline __attribute__((always_inline)) void flushes(struct capture *c)
{
    FLUSH("clflush", 0, "clflush (%[p])");
    FLUSH("clflushopt", 0, "clflushopt (%[p])");
    FLUSH("clwb", 0, "clwb (%[p])");
    FLUSH("clwb", 100, "clwb 100(%[p])");
    FLUSH("clwb", 5000, "clwb 5000(%[p])");
    FLUSH("clflushopt", 128, "clflushopt (%[p],%[i],2)");
    FLUSH("clflush", 527, "clflush 15(%[p],%[i],8)");
    FLUSH("clwb", 64, "lea -0x100000(%[p]), %%r8\n clwb 0x100040(%%r8)");
    /* A page that this mapping has only read. */
    (void)*(volatile uint8_t *)(c->base + CAPTURE_AREA - 4096);
    FLUSH("clwb", CAPTURE_AREA - 4096 + 1, "clwb 28673(%[p])");
}

static inline __attribute__((always_inline)) void fences(struct capture *c)
{
    FENCE("sfence", "sfence");
    FENCE("mfence", "mfence");
    FENCE("lfence", "lfence");
    FENCE("cpuid", "xor %%eax, %%eax\n cpuid");
    FENCE("sfence", "sfence");
    capture_add(c, __LINE__, "fence", "mfence");
    __asm__ volatile("mfence" : : : "memory");
}

static inline __attribute__((always_inline)) void all_operations(struct capture *c)
{
    c->next = 4096;
    general_stores(c);
    string_stores(c);
    vector_stores(c);
    x87_and_state_stores(c);
    non_temporal_stores(c);
    locked_stores(c);
    crossing_stores(c);
    flushes(c);
    fences(c);
}
