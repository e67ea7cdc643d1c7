/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of a mount: which correct mode to be, or which variant with a bug. */
#include <linux/module.h>
#include <linux/slab.h>

#include "fencefs.h"

static char *bug = "none";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(bug, "which variant to be; a mount's own option `bug` goes before it");

static const char *const bug_names[BUG_count] = {[BUG_none] = "none",
#define FENCEFS_BUG(name) [BUG_##name] = #name,
                                                 FENCEFS_BUGS(FENCEFS_BUG)
#undef FENCEFS_BUG
};

static int variant_named(const char *name)
{
    int i;

    for (i = 0; i < BUG_count; i++)
        if (!strcmp(bug_names[i], name))
            return i;
    pr_err("fencefs: there is no variant '%s'\n", name);
    return -EINVAL;
}

int fencefs_check_parameter(void)
{
    const int variant = variant_named(bug);

    return variant < 0 ? variant : 0;
}

enum option { OPTION_dax, OPTION_bug, OPTION_data, OPTION_chatty, OPTION_norename };

enum data { DATA_cow, DATA_inplace };

static const struct constant_table data_names[] = {
    {"cow", DATA_cow},
    {"inplace", DATA_inplace},
    {},
};

const struct fs_parameter_spec fencefs_parameters[] = {
    fsparam_flag("dax", OPTION_dax),
    fsparam_string("bug", OPTION_bug),
    fsparam_enum("data", OPTION_data, data_names),
    fsparam_flag("chatty", OPTION_chatty),
    fsparam_flag("norename", OPTION_norename),
    {},
};

int fencefs_make_options(struct fs_context *context)
{
    const int variant = variant_named(bug);
    struct fencefs_options *options;

    if (variant < 0)
        return variant;
    options = kzalloc(sizeof(*options), GFP_KERNEL);
    if (!options)
        return -ENOMEM;
    options->bug = variant;
    context->fs_private = options;
    return 0;
}

void fencefs_free_options(struct fs_context *context)
{
    kfree(context->fs_private);
}

int fencefs_parse_option(struct fs_context *context, struct fs_parameter *parameter)
{
    struct fencefs_options *options = context->fs_private;
    struct fs_parse_result result;
    const int option = fs_parse(context, fencefs_parameters, parameter, &result);
    int variant;

    if (option < 0)
        return option;
    switch ((enum option)option) {
    case OPTION_dax:
        break;
    case OPTION_bug:
        variant = variant_named(parameter->string);
        if (variant < 0)
            return variant;
        options->bug = variant;
        break;
    case OPTION_data:
        options->in_place = result.uint_32 == DATA_inplace;
        break;
    case OPTION_chatty:
        options->chatty = true;
        break;
    case OPTION_norename:
        options->no_rename = true;
        break;
    }
    return 0;
}

int fencefs_show_options(struct seq_file *out, struct dentry *root)
{
    const struct fencefs_options *options = &fencefs_of(root->d_sb)->options;

    seq_puts(out, ",dax");
    if (options->in_place)
        seq_puts(out, ",data=inplace");
    if (options->chatty)
        seq_puts(out, ",chatty");
    if (options->no_rename)
        seq_puts(out, ",norename");
    if (options->bug != BUG_none)
        seq_printf(out, ",bug=%s", bug_names[options->bug]);
    return 0;
}
