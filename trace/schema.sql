-- SPDX-License-Identifier: GPL-2.0-or-later
-- The tables and views of a trace file. This file is the only DDL and the source of
-- docs/reference/trace-schema.md: a comment before a statement describes it, a comment after a
-- column describes the column. Reading `event` and the views over it needs the virtual table
-- module (extension `fencepost_trace`); everything else opens in any SQLite.

PRAGMA application_id = 0x46504f53; -- "FPOS"
PRAGMA user_version = 2;            -- format version: one number up for every incompatible change

-- Facts about the recording that hold for all of it, for example `spec` (its text),
-- `tool_version`, `qemu_version`. Nothing in here depends on the host or the time of day.
CREATE TABLE meta (
    key TEXT PRIMARY KEY NOT NULL, -- what the value is
    value TEXT NOT NULL            -- the value
) WITHOUT ROWID;

-- How far the recording got. Exactly one row.
CREATE TABLE recording (
    id INTEGER PRIMARY KEY CHECK (id = 1), -- always 1
    state TEXT NOT NULL,         -- prepared (no events yet), running (unfinished: if no recorder is alive it was killed), complete, or truncated (cut short on purpose)
    event_count INTEGER NOT NULL, -- events in the file; the last valid seq is one less
    event_digest TEXT NOT NULL,  -- XXH3-128 of the event stream with sites and stacks, independent of blocks: equal for bit-identical recordings
    effect_digest TEXT NOT NULL, -- the same without loads, sites and stacks: equal when a second pass that captured more saw the same execution
    outcome TEXT NOT NULL        -- how the workload ended, in words; empty while unfinished
);

-- The PM devices: what of the guest physical address space is recorded, and which file backs it.
CREATE TABLE region (
    id INTEGER PRIMARY KEY,      -- from 1
    name TEXT NOT NULL,          -- the device's name, for example pmem0
    base INTEGER NOT NULL,       -- guest physical address of the first byte, a multiple of 4096
    size INTEGER NOT NULL,       -- bytes
    file TEXT NOT NULL,          -- name of the backing file, without directories
    file_offset INTEGER NOT NULL, -- where the region starts in the backing file
    initial_digest TEXT,         -- XXH3-128 of the bytes before the first event; NULL = no initial image stored
    final_digest TEXT            -- XXH3-128 of the bytes after the last event and what late_line says; NULL = not taken
);

-- PM before the first event, in chunks of 1 MiB. Pages of 4 KiB that are all zero are left out.
CREATE TABLE initial_image (
    region INTEGER NOT NULL REFERENCES region (id), -- which PM device
    offset INTEGER NOT NULL,     -- where the chunk starts in the region, a multiple of 1 MiB
    pages BLOB NOT NULL,         -- 32 bytes, bit i of byte j set: page 8*j+i of the chunk is stored
    digest TEXT NOT NULL,        -- XXH3-128 of the stored pages, uncompressed
    data BLOB NOT NULL,          -- the stored pages one after the other, zstd
    PRIMARY KEY (region, offset)
) WITHOUT ROWID;

-- The events, up to 65536 a row, in columns compressed with zstd (docs/explanation/trace-format.md).
-- The narrow columns come first, so that skipping a block does not read its data.
CREATE TABLE event_block (
    first_seq INTEGER PRIMARY KEY, -- seq of the block's first event
    event_count INTEGER NOT NULL, -- events in the block, 1..65536
    kinds INTEGER NOT NULL,      -- bit k set: an event of kind number k is in the block
    min_line INTEGER,            -- lowest line that an event touches; NULL = none does
    max_line INTEGER,            -- highest line that an event touches
    digest TEXT NOT NULL,        -- XXH3-128 of shapes, lines and positions, uncompressed
    value_digest TEXT NOT NULL,  -- XXH3-128 of stored_values, uncompressed
    shapes BLOB NOT NULL,        -- the distinct (kind, subkind, size, flags, vcpu, site, stack) of the block
    lines BLOB NOT NULL,         -- the exact set of lines that its events touch
    positions BLOB NOT NULL,     -- each event's shape, and address where it has one
    stored_values BLOB NOT NULL  -- the bytes of all stores, one after the other
);

-- When the events of a block happened, and in which threads: what columns time and thread of `event` are made of. A recording
-- of a fencepost that did not know them yet lacks this table.
CREATE TABLE event_moment (
    first_seq INTEGER PRIMARY KEY REFERENCES event_block (first_seq), -- the block
    event_count INTEGER NOT NULL, -- events in it
    digest TEXT NOT NULL,        -- XXH3-128 of times and threads, uncompressed
    times BLOB NOT NULL,         -- the step from each event to the next, from 0
    threads BLOB NOT NULL        -- runs of events of one thread
);

-- Events as rows. Constraints on seq, line, last_line, address, kind, site and vcpu skip whole
-- blocks; the natural order is seq. Columns: seq; kind (store, nt_store, flush, fence, marker,
-- load); subkind (which instruction, or which marker); vcpu; address (guest physical, NULL where
-- there is none); line and last_line (first and last line touched); size (bytes of a store or
-- load); number (a store of up to 8 bytes as an integer); value (its bytes in memory order);
-- site; stack (NULL = none); atomic (1 = part of a locked instruction,
-- whose fence is the event before). The others are worked out when they are asked for: epoch (from 0;
-- the event that guarantees something belongs to the epoch that it ends; model adr, explicit fences);
-- process (its page-table base, by the code or its call stack; NULL = a kernel thread, or no stack);
-- operation (first_seq of the innermost operation of the process, else of the last begun by any;
-- NULL = none goes on); call (first_seq of the system call of the process; threads are not told
-- apart) and system_call (its name). From event_moment, NULL where the recording did not tell: thread
-- (user threads numbered from 1 in the order of their first events, kernel code that one's system call
-- led to included; NULL = a kernel thread or an interrupt) and time (how many instructions the machine
-- had executed since the recording began, of all vCPUs; time in which it waited does not count).
CREATE VIRTUAL TABLE event USING fencepost_event;

-- What each site did in each fence interval, counted in one pass over the events each time it is
-- asked; a site that did nothing in an interval has no row. A fence interval is the events up to and
-- including a fence that counts, executed by any vCPU; the next event starts the next interval.
-- Intervals are numbered from 0, the last one may lack its fence, and those numbers change with the
-- rule: by default sfence and mfence count (rule `explicit`); with `WHERE rule = 'architectural'`, or
-- `FROM interval_site('architectural')`, also lock_rmw and xchg. This is program order cut at fences
-- and not the persistence model, whose epochs end where something becomes guaranteed: a clflush or
-- wbinvd ends no interval, and a fence ends the interval for all vCPUs. Markers and loads are not
-- counted. The natural order is interval, site. Columns: interval; site (NULL = unknown); stores;
-- nt_stores; flushes; fences (of all kinds, counting or not); first_seq and last_seq (the first and
-- last event that was counted in the interval).
CREATE VIRTUAL TABLE interval_site USING fencepost_interval_site;

-- Code that caused events: one row a distinct program counter in a distinct address space.
CREATE TABLE site (
    id INTEGER PRIMARY KEY,      -- from 1; event.site
    pc INTEGER NOT NULL,         -- guest virtual address of the instruction (kernel addresses are negative numbers: print with printf('%x'))
    privilege TEXT NOT NULL,     -- kernel or user
    address_space INTEGER NOT NULL, -- page-table base (cr3) the code ran under; 0 for kernel code
    module TEXT NOT NULL,        -- kernel, a kernel module, or a program's file name; empty = unknown
    instruction BLOB NOT NULL,   -- its bytes
    disassembly TEXT NOT NULL,   -- its text
    symbol INTEGER REFERENCES symbol (id), -- the function it is in; NULL = not resolved
    source_file TEXT,            -- NULL = unknown
    source_line INTEGER          -- NULL = unknown
);

-- How often each site did what; counted while recording, so no scan is needed.
CREATE TABLE site_count (
    site INTEGER PRIMARY KEY REFERENCES site (id), -- which site
    stores INTEGER NOT NULL,     -- events of kind store
    nt_stores INTEGER NOT NULL,  -- events of kind nt_store
    flushes INTEGER NOT NULL,    -- events of kind flush
    fences INTEGER NOT NULL,     -- events of kind fence
    loads INTEGER NOT NULL,      -- events of kind load
    volatile_flushes INTEGER NOT NULL -- flushes of memory that is not PM: no event, but a waste of time
);

-- Functions and other named places in code.
CREATE TABLE symbol (
    id INTEGER PRIMARY KEY,      -- from 1
    name TEXT NOT NULL,          -- as the symbol table has it
    module TEXT NOT NULL,        -- kernel, a kernel module, or a program's file name
    address INTEGER NOT NULL,    -- guest virtual address of its first byte
    size INTEGER NOT NULL        -- bytes; 0 = unknown
);

-- Call stacks as a tree: a stack is its innermost caller and the stack of that caller.
CREATE TABLE stack (
    id INTEGER PRIMARY KEY,      -- from 1; event.stack
    parent INTEGER REFERENCES stack (id), -- the rest of the stack; NULL = this frame is the outermost
    frame INTEGER NOT NULL REFERENCES stack_frame (id) -- the innermost caller
);

-- Distinct call instructions in call stacks.
CREATE TABLE stack_frame (
    id INTEGER PRIMARY KEY,      -- from 1
    pc INTEGER NOT NULL,         -- guest virtual address of the call instruction
    privilege TEXT NOT NULL,     -- kernel or user
    address_space INTEGER NOT NULL, -- as in site
    module TEXT NOT NULL,        -- as in site
    symbol INTEGER REFERENCES symbol (id), -- the function it is in; NULL = not resolved
    source_file TEXT,            -- NULL = unknown
    source_line INTEGER          -- NULL = unknown
);

-- What the compiler inlined at the program counters of sites and stack frames, where debug
-- information says so: a chain from the inside out, whose last function is inlined in the symbol's.
-- Functions in headers of the system inside the user's own are left out, and source_file and
-- source_line of the site or frame are those of the innermost function that is left.
CREATE TABLE inlined_call (
    address_space INTEGER NOT NULL, -- as in site
    pc INTEGER NOT NULL,         -- of a site or stack_frame
    depth INTEGER NOT NULL,      -- from 0, the innermost
    function TEXT NOT NULL,      -- that is inlined
    source_file TEXT,            -- where it is called; NULL = unknown
    source_line INTEGER,         -- NULL = unknown
    PRIMARY KEY (address_space, pc, depth)
) WITHOUT ROWID;

-- What the events of kind marker say.
CREATE TABLE marker (
    seq INTEGER PRIMARY KEY,     -- the marker's event
    kind TEXT NOT NULL,          -- op_begin, op_end, checkpoint, epoch, strand_begin, strand_end, range, record_on, record_off, syscall_enter, syscall_exit, process_start, process_end or note
    number INTEGER NOT NULL,     -- operation, strand or system call number
    result INTEGER NOT NULL,     -- what an operation, system call or process returned; 0 where nothing did
    process INTEGER NOT NULL,    -- page-table base of the process; 0 for kernel code
    arguments TEXT NOT NULL,     -- JSON array of integers: the six arguments of a system call, then the id of the call; the id of the call that returns; or address and size of a range, then pairs of physical address and size
    text TEXT NOT NULL           -- the operation, a path, a program; may be empty
);

-- Pairs the begin and end of operations and system calls (views operation and system_call).
CREATE INDEX marker_pair ON marker (kind, process, number, seq);

-- What was written to PM after the workload's end, while the machine was brought to a stop. No event has it and no crash state: together with the events it gives
-- PM as it was when final_digest was taken.
CREATE TABLE late_line (
    line INTEGER PRIMARY KEY,    -- guest physical address / 64
    written INTEGER NOT NULL,    -- bit i set: byte i of the line was written
    bytes BLOB NOT NULL          -- 64 bytes: what the last of those writes left there
);

-- Counters that say how far the recording can be trusted.
CREATE TABLE data_quality (
    name TEXT PRIMARY KEY NOT NULL, -- what was counted
    value INTEGER NOT NULL,      -- how often
    severity TEXT NOT NULL,      -- what a value other than 0 means: info, warning, or error (a guarantee does not hold)
    meaning TEXT NOT NULL        -- one sentence for a person
) WITHOUT ROWID;

-- Every store, cached or not.
CREATE VIEW store AS
SELECT seq, vcpu, address, line, last_line, size, number, value, site, stack, atomic,
       kind = 'nt_store' AS non_temporal -- 1: needs no flush
FROM event WHERE kind IN ('store', 'nt_store');

-- Every flush of PM.
CREATE VIEW flush AS
SELECT seq, vcpu, subkind AS instruction, address, line, site, stack
FROM event WHERE kind = 'flush';

-- Every fence and serialising instruction, and under which rule it counts as a fence.
CREATE VIEW fence AS
SELECT seq, vcpu, subkind AS instruction, site, stack,
       subkind IN ('sfence', 'mfence') AS counts_explicit,
       subkind IN ('sfence', 'mfence', 'lock_rmw', 'xchg') AS counts_architectural
FROM event WHERE kind = 'fence';

-- Sites with the names of their functions: the innermost, inlined or not. The offset is from the
-- beginning of the symbol that it is inlined in.
CREATE VIEW site_name AS
SELECT site.id AS site,
       coalesce((SELECT inlined_call.function FROM inlined_call
                 WHERE inlined_call.address_space = site.address_space
                   AND inlined_call.pc = site.pc AND inlined_call.depth = 0),
                symbol.name, printf('0x%x', site.pc)) AS function,
       site.pc - symbol.address AS offset, site.module, site.privilege, site.disassembly,
       site.source_file, site.source_line
FROM site LEFT JOIN symbol ON symbol.id = site.symbol;

-- Events with the names of their functions.
CREATE VIEW event_in_function AS
SELECT event.*, site_name.function, site_name.module, site_name.source_file, site_name.source_line
FROM event LEFT JOIN site_name ON site_name.site = event.site;

-- What each function did, from the counters.
CREATE VIEW function_count AS
SELECT function, module, sum(stores) AS stores, sum(nt_stores) AS nt_stores,
       sum(flushes) AS flushes, sum(fences) AS fences, sum(loads) AS loads,
       sum(volatile_flushes) AS volatile_flushes
FROM site_name JOIN site_count USING (site) GROUP BY function, module;

-- What each function did in each fence interval; as in interval_site, ended by sfence and mfence.
CREATE VIEW function_interval AS
SELECT interval, function, module, sum(stores) AS stores, sum(nt_stores) AS nt_stores,
       sum(flushes) AS flushes, sum(fences) AS fences
FROM interval_site LEFT JOIN site_name USING (site) GROUP BY interval, function, module;

-- Call stacks frame by frame: depth 0 is the innermost caller. What is inlined in a frame has no
-- row: inlined_call has it.
CREATE VIEW stack_line AS
WITH RECURSIVE walk (stack, depth, node) AS (
    SELECT id, 0, id FROM stack
    UNION ALL
    SELECT walk.stack, walk.depth + 1, stack.parent FROM walk JOIN stack ON stack.id = walk.node
    WHERE stack.parent IS NOT NULL AND walk.depth < 1000
)
SELECT walk.stack, walk.depth, coalesce(symbol.name, printf('0x%x', stack_frame.pc)) AS function,
       stack_frame.module, stack_frame.pc, stack_frame.source_file, stack_frame.source_line
FROM walk JOIN stack ON stack.id = walk.node
JOIN stack_frame ON stack_frame.id = stack.frame
LEFT JOIN symbol ON symbol.id = stack_frame.symbol;

-- Operations of the workload: their first and last event. last_seq is NULL where the end is missing.
CREATE VIEW operation AS
SELECT b.seq AS first_seq,
       (SELECT min(e.seq) FROM marker e
        WHERE e.kind = 'op_end' AND e.number = b.number AND e.process = b.process
          AND e.seq > b.seq) AS last_seq,
       b.number, b.process, b.text
FROM marker b WHERE b.kind = 'op_begin';

-- System calls of the workload: entry, return (NULL = did not return), and result. Threads of a
-- process may be in the same call at once: the id of the call, behind its six arguments, is what
-- its return has too.
CREATE VIEW system_call AS
SELECT b.seq AS first_seq, e.seq AS last_seq, b.number, b.process, b.arguments, b.text, e.result
FROM marker b LEFT JOIN marker e ON e.seq =
     (SELECT min(seq) FROM marker
      WHERE kind = 'syscall_exit' AND process = b.process AND number = b.number
        AND seq > b.seq
        AND (arguments = '[]' OR b.arguments LIKE '%,' || substr(arguments, 2)))
WHERE b.kind = 'syscall_enter';
