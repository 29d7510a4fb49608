//! The SQL of commits and deletions.
//!
//! # Why triggers
//!
//! Each statement is a hop to the connection's thread and back, and a transaction of several statements stays open
//! between them, while the task that drives it may wait for its turn or be dropped. One statement has neither cost:
//! SQLite applies it as a whole or not at all, whatever becomes of the caller.
//!
//! SQLite has no stored procedures, but an `INSTEAD OF` trigger is one: it gets a row of arguments and may refuse it.
//! The views are temporary: they belong to this version of the code and not to the file.
//!
//! * `superstep_commit` takes one commit; a refusal is the statement's error.
//! * `superstep_commits` takes several, each with the number of its slot. Those refused are skipped and noted in
//!   `superstep_refused`, the others are applied: their guards see what the ones before them wrote.
//! * Both pass on what they let through to `superstep_apply`, which writes. It is a view of its own since SQLite buffers
//!   a list of rows to be inserted where the same trigger has read from that table.
//!
//! Lists come as JSON arrays of texts, one a row, of numbers with a fixed width, which say where in `bytes` the content
//! stands; `request.rs` has their layout. So a statement is the same for every commit and is compiled once, and a
//! row of a list costs about a microsecond.

use sqlx::AssertSqlSafe;

/// The columns of a commit, and as many places for values.
macro_rules! commit {
    (columns) => {
        "NULL AS tenant, NULL AS thread, NULL AS namespace, NULL AS now, NULL AS head, NULL AS epoch,
    NULL AS root_head, NULL AS root_epoch, NULL AS fence_owner, NULL AS fence_epoch, NULL AS raises, NULL AS owner,
    NULL AS releases, NULL AS status, NULL AS next, NULL AS graph, NULL AS first_seq, NULL AS checkpoints,
    NULL AS parts, NULL AS writes, NULL AS answers, NULL AS bytes"
    };
    (values) => {
        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
    };
    (apply) => {
        "INSERT INTO superstep_apply VALUES (NEW.tenant, NEW.thread, NEW.namespace, NEW.now, NEW.raises, NEW.owner,
        NEW.status, NEW.next, NEW.graph, NEW.checkpoints, NEW.parts, NEW.writes, NEW.bytes);"
    };
    // Whether the checkpoint and task of the answer in `value` have a record of this kind: 3 is a question, 4 an answer.
    (record $kind:literal) => {
        concat!(
            "EXISTS (
                    SELECT 1 FROM superstep_checkpoint AS c CROSS JOIN superstep_write AS w
                    WHERE c.tenant = NEW.tenant AND c.thread = NEW.thread AND c.namespace = NEW.namespace
                        AND c.id = substr(NEW.bytes, substr(value, 2, 10), 16)
                        AND w.tenant = NEW.tenant AND w.thread = NEW.thread AND w.namespace = NEW.namespace
                        AND w.seq = c.seq AND w.task = substr(NEW.bytes, substr(value, 2, 10) + 16, 16)
                        AND w.path = substr(value, 12) AND w.kind = ",
            $kind,
            ")"
        )
    };
    // What speaks against it: a word, a space and what was found (`refusal.rs` reads it), or null.
    (refusal) => {
        concat!(
            "
        SELECT coalesce(
            CASE WHEN NEW.answers IS NOT NULL THEN (
                SELECT 'answered ' || substr(value, 12) FROM json_each(NEW.answers)
                WHERE ", commit!(record 4), " LIMIT 1
            ) END,
            CASE
                WHEN iif(held.owner IS NULL, NEW.fence_owner IS NOT NULL OR NEW.releases,
                        NEW.fence_owner IS NOT held.owner OR NEW.fence_epoch IS NOT held.epoch)
                    THEN 'fenced ' || coalesce(held.epoch, 0)
                WHEN iif(NEW.head IS NOT NULL, NEW.head IS NOT head.id,
                        head.id IS NOT NULL OR NEW.epoch <> coalesce(held.epoch + held.deleted, 0))
                    THEN 'moved ' || iif(head.id IS NOT NULL, hex(head.id), iif(held.deleted, 'deleted', 'nothing'))
                WHEN CASE
                        WHEN NEW.root_head IS NOT NULL THEN NEW.root_head IS NOT root.id
                        WHEN NEW.root_epoch IS NOT NULL
                        THEN root.id IS NOT NULL OR NEW.root_epoch <> coalesce(held.epoch + held.deleted, 0)
                    END
                    THEN 'moved ' || iif(root.id IS NOT NULL, hex(root.id), iif(held.deleted, 'deleted', 'nothing'))
                WHEN NEW.first_seq <= head.seq THEN 'position ' || head.seq
            END,
            CASE WHEN NEW.answers IS NOT NULL THEN (
                SELECT 'unasked ' || substr(value, 12) FROM json_each(NEW.answers)
                WHERE substr(value, 1, 1) = '0' AND NOT ", commit!(record 3), " LIMIT 1
            ) END
        ) AS refusal
        FROM (SELECT 1)
        LEFT JOIN superstep_thread AS held ON held.tenant = NEW.tenant AND held.thread = NEW.thread
        LEFT JOIN superstep_checkpoint AS head
            ON head.tenant = NEW.tenant AND head.thread = NEW.thread AND head.namespace = NEW.namespace
            AND head.seq = (
                SELECT seq FROM superstep_checkpoint
                WHERE tenant = NEW.tenant AND thread = NEW.thread AND namespace = NEW.namespace
                ORDER BY seq DESC LIMIT 1
            )
        LEFT JOIN superstep_checkpoint AS root
            ON (NEW.root_head IS NOT NULL OR NEW.root_epoch IS NOT NULL)
            AND root.tenant = NEW.tenant AND root.thread = NEW.thread AND root.namespace = ''
            AND root.seq = (
                SELECT seq FROM superstep_checkpoint
                WHERE tenant = NEW.tenant AND thread = NEW.thread AND namespace = ''
                ORDER BY seq DESC LIMIT 1
            )"
        )
    };
}

/// Applies a commit, or is refused by the trigger.
pub(crate) const COMMIT: &str = concat!("INSERT INTO superstep_commit VALUES (", commit!(values), ")");

/// Applies up to `slots` commits and gives slot and refusal of those that are refused.
///
/// There is one text for each number of slots, so let these be few; slots without a number are skipped.
pub(crate) fn commit_several(slots: usize) -> AssertSqlSafe<String> {
    let slots = vec![concat!("(?, ", commit!(values), ")"); slots].join(", ");
    AssertSqlSafe(format!(
        "DELETE FROM superstep_refused; INSERT INTO superstep_commits VALUES {slots}; SELECT slot, refusal FROM superstep_refused"
    ))
}

/// How many values a slot takes.
pub(crate) const SLOT_VALUES: usize = 23;

/// Deletes a thread and leaves its tombstone.
pub(crate) const DELETE: &str = "INSERT INTO superstep_delete VALUES (?, ?, ?)";

/// Prepares the writing connection: the views through which commits and deletions enter.
pub(crate) const PREPARE: &str = concat!(
    "
CREATE TEMP TABLE superstep_refused (slot INTEGER PRIMARY KEY, refusal TEXT NOT NULL);

CREATE TEMP VIEW superstep_commit AS SELECT
    ",
    commit!(columns),
    ";

CREATE TEMP VIEW superstep_commits AS SELECT
    NULL AS slot, ",
    commit!(columns),
    ";

CREATE TEMP VIEW superstep_apply AS SELECT
    NULL AS tenant, NULL AS thread, NULL AS namespace, NULL AS now, NULL AS raises, NULL AS owner,
    NULL AS status, NULL AS next, NULL AS graph, NULL AS checkpoints, NULL AS parts, NULL AS writes, NULL AS bytes;

CREATE TEMP TRIGGER superstep_commit_check INSTEAD OF INSERT ON superstep_commit BEGIN
    SELECT RAISE(ABORT, refusal) FROM (",
    commit!(refusal),
    "
    ) WHERE refusal IS NOT NULL;
    ",
    commit!(apply),
    "
END;

CREATE TEMP TRIGGER superstep_commits_check INSTEAD OF INSERT ON superstep_commits WHEN NEW.slot IS NOT NULL BEGIN
    INSERT INTO superstep_refused (slot, refusal) SELECT NEW.slot, refusal FROM (",
    commit!(refusal),
    "
    ) WHERE refusal IS NOT NULL;
    SELECT RAISE(IGNORE) FROM superstep_refused WHERE slot = NEW.slot;
    ",
    commit!(apply),
    "
END;

CREATE TEMP TRIGGER superstep_apply_write INSTEAD OF INSERT ON superstep_apply BEGIN
    INSERT INTO superstep_thread
        (tenant, thread, epoch, owner, status, next, graph, deleted, created_at, updated_at)
    VALUES (NEW.tenant, NEW.thread, NEW.raises, NEW.owner, coalesce(NEW.status, 'ready'), coalesce(NEW.next, '[]'),
        coalesce(NEW.graph, ''), 0, NEW.now, NEW.now)
    ON CONFLICT (tenant, thread) DO UPDATE SET
        epoch = epoch + deleted + excluded.epoch,
        owner = iif(NEW.raises > 0, excluded.owner, owner),
        status = coalesce(NEW.status, iif(deleted, 'ready', status)),
        next = coalesce(NEW.next, next),
        graph = coalesce(NEW.graph, graph),
        deleted = 0,
        updated_at = NEW.now;

    INSERT INTO superstep_checkpoint (tenant, thread, namespace, seq, id, branch, metadata, body, args)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, substr(value, 1, 19), substr(NEW.bytes, substr(value, 39, 10), 16),
        substr(value, 20, 19), nullif(substr(value, 69), ''),
        CAST(substr(NEW.bytes, substr(value, 39, 10) + 16, substr(value, 49, 10)) AS TEXT),
        substr(NEW.bytes, substr(value, 39, 10) + 16 + substr(value, 49, 10), substr(value, 59, 10))
    FROM json_each(NEW.checkpoints);

    INSERT INTO superstep_value (tenant, thread, namespace, branch, channel, seq, kind, checkpoint, bytes)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, substr(value, 1, 19), substr(value, 72), substr(value, 20, 19),
        substr(value, 39, 3), substr(NEW.bytes, substr(value, 42, 10), 16),
        substr(NEW.bytes, substr(value, 52, 10), substr(value, 62, 10))
    FROM json_each(NEW.parts);

    INSERT INTO superstep_write (tenant, thread, namespace, seq, task, kind, path, node, bytes)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, c.seq, substr(NEW.bytes, substr(value, 4, 10) + 16, 16),
        substr(value, 1, 3), substr(value, 34),
        CAST(substr(NEW.bytes, substr(value, 4, 10) + 32, substr(value, 14, 10)) AS TEXT),
        substr(NEW.bytes, substr(value, 4, 10) + 32 + substr(value, 14, 10), substr(value, 24, 10))
    FROM json_each(NEW.writes) CROSS JOIN superstep_checkpoint AS c
    WHERE c.tenant = NEW.tenant AND c.thread = NEW.thread AND c.namespace = NEW.namespace
        AND c.id = substr(NEW.bytes, substr(value, 4, 10), 16)
    ON CONFLICT DO UPDATE SET node = excluded.node, bytes = excluded.bytes;
END;

CREATE TEMP VIEW superstep_delete AS SELECT NULL AS tenant, NULL AS thread, NULL AS now;

CREATE TEMP TRIGGER superstep_delete_apply INSTEAD OF INSERT ON superstep_delete BEGIN
    DELETE FROM superstep_write WHERE tenant = NEW.tenant AND thread = NEW.thread;
    DELETE FROM superstep_value WHERE tenant = NEW.tenant AND thread = NEW.thread;
    DELETE FROM superstep_checkpoint WHERE tenant = NEW.tenant AND thread = NEW.thread;
    INSERT INTO superstep_thread
        (tenant, thread, epoch, owner, status, next, graph, deleted, created_at, updated_at)
    VALUES (NEW.tenant, NEW.thread, 0, NULL, 'done', '[]', '', 1, NEW.now, NEW.now)
    ON CONFLICT (tenant, thread) DO UPDATE SET
        epoch = epoch + deleted, owner = NULL, status = 'done', next = '[]', graph = '', deleted = 1,
        updated_at = NEW.now;
END;
",
);
