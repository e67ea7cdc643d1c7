-- SPDX-License-Identifier: GPL-2.0-or-later
-- What testing a run has said so far (RUN/results.db), and the source of docs/reference/results-db.md. Rows only ever come to be or get their verdict; a
-- transaction holds whole verdicts. A process that is killed loses what it did in its last second, and of each worker what that judged in the second before its
-- latest image.

PRAGMA application_id = 0x46505253; -- "FPRS"
PRAGMA user_version = 7;            -- one number up for every incompatible change

-- What the verdicts are about and what they come from; when something of that changes, the file is made anew.
CREATE TABLE about (
    name TEXT PRIMARY KEY,  -- trace: its event digest; oracles: their names, sorted and joined by commas; baseline: the images without a crash that were judged; baseline_missing: why there is no final one among them; baseline_used: blocks and inodes that each of them uses when it was emptied; guest KIND NAME: a part of the guest's image; oracle NAME: its folder and the programs it needs; test: promise, recovery command and time limit; workload: the job with its files; fencepost
    value TEXT NOT NULL     -- of what names itself its value (oracles: empty are the default ones), else a digest
) WITHOUT ROWID;

-- One for each time `fencepost test` worked on the run.
CREATE TABLE session (
    number INTEGER PRIMARY KEY, -- from 1
    started TEXT NOT NULL,      -- UTC
    strategy TEXT NOT NULL,     -- as given
    model TEXT NOT NULL,        -- adr, eadr or line
    fences TEXT NOT NULL,       -- explicit or architectural
    seed INTEGER NOT NULL,      -- of random states and of the passes that were confirmed
    jobs INTEGER NOT NULL,      -- workers
    guest TEXT NOT NULL,        -- backend, accelerator, kernel release
    stop TEXT,                  -- end, limit, time, bugs, interrupted, trouble; NULL: killed, or still running
    seconds REAL,               -- that it took
    generated INTEGER,          -- states that the strategies gave
    tested INTEGER              -- images that got a verdict
);

-- What oracles object to in images without a crash.
CREATE TABLE baseline (
    image TEXT NOT NULL,        -- initial: as the set-up left it; final: the workload has ended and everything is unmounted
    oracle TEXT NOT NULL,       -- that objects; "guest": the guest was lost
    verdict TEXT NOT NULL,      -- as of a crash image
    summary TEXT NOT NULL,      -- the same whenever the same thing is wrong
    masked INTEGER NOT NULL,    -- 1: the same is left out in crash images
    details TEXT NOT NULL       -- JSON
);

-- Each crash image once for each thing that may be expected of it.
CREATE TABLE image (
    number INTEGER PRIMARY KEY, -- from 1, in the order in which they were first seen
    identity BLOB NOT NULL,     -- 16 bytes: the sum of its lines' hashes, low half first
    expectation INTEGER NOT NULL, -- same number: same legal outcomes (what the workload had promised)
    session INTEGER,            -- that gave the verdict
    verdict TEXT,               -- pass, inconsistent, recovery_failed, guest_hang, guest_crash, infra_error; NULL: none yet
    confirmed INTEGER,          -- 1: a freshly restored guest was asked too, and said the same
    disagreed INTEGER,          -- 1: it said another thing, so the verdict is infra_error
    lost_guests INTEGER,        -- that the image cost
    masked INTEGER,             -- objections that were left out, because images without a crash get them too
    finding TEXT,               -- finding.id
    judge_seconds REAL,         -- in guests and oracles, with what was tried again and confirmed
    oracle_seconds REAL,        -- of the judgement that counts: in programs on the host
    harness_seconds REAL,       -- patching PM and undoing what guests wrote
    restore_seconds REAL,       -- restoring guests
    UNIQUE (identity, expectation)
);

-- Every state that gave the image.
CREATE TABLE origin (
    image INTEGER NOT NULL,     -- image.number
    seq INTEGER NOT NULL,       -- the event before which power fails
    state TEXT NOT NULL,        -- its id, for `fencepost states --show`
    architectural INTEGER NOT NULL, -- 0: legal only as long as locked instructions do not count as fences
    PRIMARY KEY (image, state)
) WITHOUT ROWID;

-- The states that were tested to find out which stores decide that an image fails: its neighbours at the same crash point, in a warm guest, unconfirmed.
CREATE TABLE probe (
    image INTEGER NOT NULL,     -- image.number: the failing one
    state TEXT NOT NULL,        -- id of the state, for `fencepost states --show`
    verdict TEXT NOT NULL,      -- as of an image
    alike INTEGER NOT NULL,     -- 1: it fails as the image does
    seconds REAL NOT NULL,      -- that it took; not part of those of the image
    PRIMARY KEY (image, state)
) WITHOUT ROWID;

-- What oracles said, where it was not a pass.
CREATE TABLE evidence (
    image INTEGER NOT NULL,     -- image.number
    oracle TEXT NOT NULL,       -- "guest": the guest was lost; "harness": our own doubt
    verdict TEXT NOT NULL,      -- of this oracle
    summary TEXT NOT NULL,      -- the same whenever the same thing is wrong
    details TEXT NOT NULL,      -- JSON
    title TEXT NOT NULL         -- for people: operation, object and what is wrong, of this image
);

-- Failing images of which the same code decides, whatever the words for what it breaks.
CREATE TABLE finding (
    id TEXT PRIMARY KEY,        -- the directory below findings/; from names of code and what is wrong: the same in another recording, process or build
    severity TEXT NOT NULL,     -- bug; warning: each of its states relies on an incidental locked instruction
    verdict TEXT NOT NULL,      -- of the image that shows it
    oracle TEXT NOT NULL,       -- that said so; workload: the workload itself crashed or hung the guest, without a power failure, and there is no image
    summary TEXT NOT NULL,      -- what is wrong
    decides TEXT NOT NULL,      -- absent: a store is missing; present: one is there; order: both; neither: nothing that is in flight; unknown: not found out
    absent_seq INTEGER,         -- of the trace: the store of `image` without which it fails and with which it would not; NULL: not the same code for all images
    absent_site INTEGER,        -- of the trace: its site
    absent_stack INTEGER,       -- of the trace: its call stack; 0: none recorded
    absent_name TEXT,           -- function, offset and line as far as known
    absent_operation TEXT,      -- of the workload, in which it was executed; empty: none
    absent_sites TEXT NOT NULL, -- JSON: all such sites, of the images that were asked about
    absent_code TEXT NOT NULL,  -- JSON: their functions with the modules, without copy routines
    present_seq INTEGER,        -- likewise, the store with which they fail and without which they would not
    present_site INTEGER,       -- likewise
    present_stack INTEGER,      -- likewise
    present_name TEXT,          -- likewise
    present_operation TEXT,     -- likewise
    present_sites TEXT NOT NULL, -- likewise
    present_code TEXT NOT NULL, -- likewise
    scope TEXT NOT NULL,        -- the function that the persisted stores work for; where no store decides: the latest store's function, and whom it works for; empty: several
    callers TEXT NOT NULL,      -- JSON: the functions that the code that decides works for, in images that were asked about: each may be the one that is wrong
    other_ids TEXT NOT NULL,    -- JSON: what the finding would be called if another of its images had come first
    unfenced INTEGER NOT NULL,  -- 1: the lost stores had been flushed, so that a fence is missing
    last_seq INTEGER,           -- the latest store before the power failure; NULL: no power failed
    last_site INTEGER,          -- likewise
    last_stack INTEGER,         -- likewise
    last_name TEXT,             -- likewise
    last_operation TEXT,        -- likewise
    image INTEGER NOT NULL,     -- the one that shows it: the first that was explained, or the first; 0: none
    state TEXT NOT NULL,        -- its first origin; empty: none
    images INTEGER NOT NULL     -- how many
);

-- Images by finding.
CREATE INDEX image_finding ON image (finding) WHERE finding IS NOT NULL;

-- Evidence by image.
CREATE INDEX evidence_image ON evidence (image);

-- Failing states with what is wrong about them.
CREATE VIEW failure AS
SELECT image.finding, image.number AS image, image.verdict, evidence.oracle, evidence.summary, origin.seq, origin.state
FROM image JOIN evidence ON evidence.image = image.number JOIN origin ON origin.image = image.number
WHERE image.finding IS NOT NULL;

-- Findings with all the states that show them.
CREATE VIEW finding_state AS
SELECT image.finding, origin.state, origin.seq, image.number AS image, image.verdict, origin.architectural
FROM image JOIN origin ON origin.image = image.number
WHERE image.finding IS NOT NULL;

-- Findings with the words for what is wrong: what decided the verdicts of their images, and of how many.
CREATE VIEW symptom AS
SELECT image.finding, evidence.verdict, evidence.oracle, evidence.summary, evidence.title, min(image.number) AS image, count(*) AS images
FROM image JOIN evidence ON evidence.rowid =
(SELECT min(rowid) FROM evidence WHERE evidence.image = image.number AND evidence.verdict = image.verdict)
WHERE image.finding IS NOT NULL GROUP BY image.finding, evidence.verdict, evidence.oracle, evidence.summary;
