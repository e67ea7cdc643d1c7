/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The variants of fencefs: one wrong code path each. What each breaks is in fencefs.toml. */
#ifndef FENCEFS_BUGS_H
#define FENCEFS_BUGS_H

#define FENCEFS_BUGS(X)                                                                            \
    X(journal_unflushed)                                                                           \
    X(commit_unfenced)                                                                             \
    X(commit_first)                                                                                \
    X(apply_unflushed)                                                                             \
    X(freed_early)                                                                                 \
    X(data_late)                                                                                   \
    X(write_in_place)                                                                              \
    X(size_early)                                                                                  \
    X(stale_rest)                                                                                  \
    X(truncate_in_two)                                                                             \
    X(inode_unflushed)                                                                             \
    X(name_unflushed)                                                                              \
    X(name_in_place)                                                                               \
    X(symlink_late)                                                                                \
    X(mkdir_count_unlogged)                                                                        \
    X(replaced_count_unlogged)                                                                     \
    X(rename_in_two)                                                                               \
    X(link_in_two)                                                                                 \
    X(unlink_in_two)                                                                               \
    X(orphan_lost)                                                                                 \
    X(orphan_kept)                                                                                 \
    X(msync_nothing)                                                                               \
    X(move_count_forgotten)                                                                        \
    X(recovery_oops)                                                                               \
    X(recovery_loops)                                                                              \
    X(recovery_adds)                                                                               \
    X(recovery_read_only)                                                                          \
    X(recovery_unflushed)                                                                          \
    X(remount_forgets)                                                                             \
    X(alloc_race)                                                                                  \
    X(replay_thread_oops)                                                                          \
    X(replay_thread_loops)                                                                         \
    X(orphan_blocks_leaked)                                                                        \
    X(writer_mark_kept)                                                                            \
    X(chmod_unfenced)                                                                              \
    X(flush_twice)                                                                                 \
    X(fence_twice)                                                                                 \
    X(flush_streamed)                                                                              \
    X(flush_clean)

enum fencefs_bug {
    BUG_none,
#define FENCEFS_BUG(name) BUG_##name,
    FENCEFS_BUGS(FENCEFS_BUG)
#undef FENCEFS_BUG
        BUG_count
};

#endif
