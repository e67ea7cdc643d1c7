// SPDX-License-Identifier: GPL-2.0-or-later
// Our declarations of the part of QEMU's plugin interface that we use (levels 4 to 6). Debian ships
// no header for it; what is declared here is checked against the level QEMU offers at load time.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = std::uint64_t;

struct qemu_info_t {
    const char *target_name;
    struct {
        int min;
        int cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus;
        int max_vcpus;
    } system;
};

// Of GLib, which QEMU brings along.
struct GByteArray {
    std::uint8_t *data;
    unsigned len;
};
struct GArray {
    char *data;
    unsigned len;
};
GByteArray *g_byte_array_sized_new(unsigned reserved);
GByteArray *g_byte_array_set_size(GByteArray *array, unsigned length);
unsigned g_array_get_element_size(GArray *array);
char *g_array_free(GArray *array, int free_segment);

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_register;
struct qemu_plugin_scoreboard;
using qemu_plugin_meminfo_t = std::uint32_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };
// A number for each vCPU, in an array that QEMU keeps.
struct qemu_plugin_u64 {
    qemu_plugin_scoreboard *score;
    std::size_t offset;
};
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64, QEMU_PLUGIN_INLINE_STORE_U64 };

enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

struct qemu_plugin_mem_value {
    int type; // log2 of the size
    union {
        std::uint8_t u8;
        std::uint16_t u16;
        std::uint32_t u32;
        std::uint64_t u64;
        struct {
            std::uint64_t low;
            std::uint64_t high;
        } u128;
    } data;
};

// Later levels append fields: walk an array of these by its element size.
struct qemu_plugin_reg_descriptor {
    qemu_plugin_register *handle;
    const char *name;
    const char *feature;
};

using qemu_plugin_vcpu_simple_cb_t = void (*)(qemu_plugin_id_t id, unsigned vcpu);
using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t id, qemu_plugin_tb *block);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu, void *userdata);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu, qemu_plugin_meminfo_t info,
                                           std::uint64_t address, void *userdata);
using qemu_plugin_udata_cb_t = void (*)(qemu_plugin_id_t id, void *userdata);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t callback);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           qemu_plugin_vcpu_tb_trans_cb_t callback);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *instruction,
                                            qemu_plugin_vcpu_udata_cb_t callback,
                                            qemu_plugin_cb_flags flags, void *userdata);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn *instruction,
                                      qemu_plugin_vcpu_mem_cb_t callback,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw access,
                                      void *userdata);
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *block,
                                          qemu_plugin_vcpu_udata_cb_t callback,
                                          qemu_plugin_cb_flags flags, void *userdata);
// When a block begins, without a call.
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(qemu_plugin_tb *block, qemu_plugin_op op,
                                                       qemu_plugin_u64 entry, std::uint64_t number);
qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(std::size_t element_size);
// Until a vCPU is added.
void *qemu_plugin_scoreboard_find(qemu_plugin_scoreboard *score, unsigned vcpu);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t callback,
                                    void *userdata);

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *block);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *block, std::size_t index);
std::size_t qemu_plugin_insn_data(const qemu_plugin_insn *instruction, void *bytes,
                                  std::size_t length);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn *instruction);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *instruction);

unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
qemu_plugin_mem_value qemu_plugin_mem_get_value(qemu_plugin_meminfo_t info);
qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, std::uint64_t address);
std::uint64_t qemu_plugin_hwaddr_phys_addr(const qemu_plugin_hwaddr *address);

// Elements are qemu_plugin_reg_descriptor.
GArray *qemu_plugin_get_registers();
// Appends to `bytes`. What it returns differs between levels; the length says whether it worked.
// From level 5 on it does not in callbacks that were registered with QEMU_PLUGIN_CB_NO_REGS.
int qemu_plugin_read_register(qemu_plugin_register *handle, GByteArray *bytes);
bool qemu_plugin_read_memory_vaddr(std::uint64_t address, GByteArray *bytes, std::size_t length);
// From level 5 on; null before. False: nothing is mapped there.
__attribute__((weak)) bool qemu_plugin_translate_vaddr(std::uint64_t address,
                                                       std::uint64_t *physical);

} // extern "C"
