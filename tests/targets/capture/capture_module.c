/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does all operations on PM at a physical address, through the direct map, an ioremap and a vmap of
 * it, and shows what it did in /proc/fencepost_capture.
 */
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>

#include <asm/fpu/api.h>

#include "fencepost_marker.h"
#include "operations.h"

#define RECORDS 20000

static unsigned long long physical;
module_param(physical, ullong, 0444);
MODULE_PARM_DESC(physical, "address of the PM to use, on a page boundary");

static struct capture c = {.seed = 88172645463325252ull, .capacity = RECORDS};

static noinline void kernel_operations(struct capture *c)
{
    unsigned long tables;
    __asm__ volatile("wbinvd" : : : "memory");
    capture_add(c, __LINE__, "flush", "wbinvd");
    __asm__ volatile("wbnoinvd" : : : "memory");
    capture_add(c, __LINE__, "flush", "wbnoinvd");
    __asm__ volatile("mov %%cr3, %0\n mov %0, %%cr3" : "=r"(tables) : : "memory");
    capture_add(c, __LINE__, "fence", "other_serialising");
    __asm__ volatile("invlpg (%0)" : : "r"(c->base) : "memory");
    capture_add(c, __LINE__, "fence", "other_serialising");
}

static noinline void through(struct capture *c, void *mapping)
{
    c->base = mapping;
    all_operations(c);
    kernel_operations(c);
    /* Translations were just thrown away; stores and flushes must find theirs again. */
    flushes(c);
    crossing_stores(c);
}

static int show(struct seq_file *out, void *unused)
{
    for (uint32_t i = 0; i < c.count; i++) {
        const struct capture_record *r = &c.records[i];
        seq_printf(out, "%u %s %s %u %u %u ", r->line, r->kind, r->subkind, r->offset, r->size,
                   r->atomic);
        for (unsigned at = 0; at < r->size; at++)
            seq_printf(out, "%02x", r->value[at]);
        seq_putc(out, '\n');
    }
    return 0;
}

static int __init capture_init(void)
{
    struct page *pages[CAPTURE_AREA / PAGE_SIZE];
    void *remapped;
    void *mapped;
    unsigned long flags;
    int error = -ENOMEM;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++)
        pages[i] = pfn_to_page((physical >> PAGE_SHIFT) + i);
    c.records = vzalloc(sizeof(*c.records) * RECORDS);
    remapped = memremap(physical, CAPTURE_AREA, MEMREMAP_WB);
    mapped = vmap(pages, ARRAY_SIZE(pages), VM_MAP, PAGE_KERNEL);
    if (!c.records || !remapped || !mapped ||
        !proc_create_single("fencepost_capture", 0, NULL, show))
        goto out;

    kernel_fpu_begin();
    local_irq_save(flags);
    fencepost_op_begin(8, "capture in the kernel");
    through(&c, __va(physical));
    through(&c, remapped);
    through(&c, mapped);
    fencepost_op_end(8, c.count);
    local_irq_restore(flags);
    kernel_fpu_end();
    error = 0;
out:
    if (remapped)
        memunmap(remapped);
    if (mapped)
        vunmap(mapped);
    if (error)
        vfree(c.records);
    return error;
}

static void __exit capture_exit(void)
{
    remove_proc_entry("fencepost_capture", NULL);
    vfree(c.records);
}

module_init(capture_init);
module_exit(capture_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Every form of store, flush and fence on PM, for fencepost's proof of capture");
