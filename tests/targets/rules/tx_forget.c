/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions of libpmemobj that change two objects: one adds both to its log, the others forget
 * one. tx_forget POOL */
#include <libpmemobj.h>

struct account {
    char name[128];
    uint64_t balance;
    char unused[120];
};

POBJ_LAYOUT_BEGIN(bank);
POBJ_LAYOUT_ROOT(bank, struct bank);
POBJ_LAYOUT_END(bank);

struct bank {
    struct account first;
    struct account second;
    uint64_t transfers; /* directly behind */
};

#define NOINLINE __attribute__((noinline))

static NOINLINE void transfer_right(PMEMobjpool *pool, TOID(struct bank) bank)
{
    TX_BEGIN(pool)
    {
        TX_ADD_FIELD(bank, first);
        TX_ADD_FIELD(bank, second);
        D_RW(bank)->first.balance -= 10;
        D_RW(bank)->second.balance += 10;
    }
    TX_END
}

/* The second account is in lines of its own. */
static NOINLINE void transfer_forgetful(PMEMobjpool *pool, TOID(struct bank) bank)
{
    TX_BEGIN(pool)
    {
        TX_ADD_FIELD(bank, first);
        D_RW(bank)->first.balance -= 10;
        D_RW(bank)->second.balance += 10;
    }
    TX_END
}

/* The counter shares a line with the end of what is added. */
static NOINLINE void count_transfer(PMEMobjpool *pool, TOID(struct bank) bank)
{
    TX_BEGIN(pool)
    {
        TX_ADD_FIELD(bank, second);
        D_RW(bank)->second.unused[119]++;
        D_RW(bank)->transfers++;
    }
    TX_END
}

int main(int argc, char **argv)
{
    PMEMobjpool *pool = argc == 2 ? pmemobj_create(argv[1], "bank", PMEMOBJ_MIN_POOL, 0600) : NULL;
    if (!pool)
        return 2;
    TOID(struct bank) bank = POBJ_ROOT(pool, struct bank);
    transfer_right(pool, bank);
    transfer_forgetful(pool, bank);
    count_transfer(pool, bank);
    pmemobj_close(pool);
    return 0;
}
