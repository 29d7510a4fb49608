//! All SQL of the store. Everything a user gave is bound; no text is put together at run time.

/// Prepares the writing connection: the views through which commits and deletions enter.
///
/// # Why a trigger
///
/// Each statement is a hop to the connection's thread and back, and a transaction of several statements stays open
/// between them, while the task that drives it may wait for its turn or be dropped. One statement has neither cost:
/// SQLite applies it as a whole or not at all, whatever becomes of the caller. SQLite has no stored procedures, but an
/// `INSTEAD OF` trigger is one: it gets a row of arguments and may refuse it. It is temporary, so it belongs to
/// this version of the code and not to the file.
///
/// Lists come as JSON arrays of rows, which say where in `bytes` their content stands; so the text of the
/// statement is the same for every commit and is compiled once.
pub(crate) const PREPARE_WRITER: &str = "
CREATE TEMP VIEW superstep_commit AS SELECT
    NULL AS tenant, NULL AS thread, NULL AS namespace, NULL AS now,
    NULL AS head, NULL AS epoch, NULL AS root_head, NULL AS root_epoch,
    NULL AS fence_owner, NULL AS fence_epoch,
    NULL AS raises, NULL AS owns, NULL AS owner, NULL AS releases, NULL AS status, NULL AS next, NULL AS graph,
    NULL AS first_seq, NULL AS checkpoints, NULL AS parts, NULL AS writes, NULL AS answers, NULL AS bytes;

CREATE TEMP TRIGGER superstep_commit_apply INSTEAD OF INSERT ON superstep_commit BEGIN
    SELECT RAISE(ABORT, refusal) FROM (
        SELECT CASE
            WHEN answered.path IS NOT NULL THEN 'answered ' || answered.path
            WHEN CASE WHEN held.owner IS NULL THEN NEW.fence_owner IS NOT NULL OR NEW.releases
                      ELSE NEW.fence_owner IS NOT held.owner OR NEW.fence_epoch IS NOT held.epoch END
                THEN 'fenced ' || coalesce(held.epoch, 0)
            WHEN CASE WHEN NEW.head IS NULL
                      THEN head.id IS NOT NULL OR NEW.epoch <> coalesce(held.epoch + held.deleted, 0)
                      ELSE NEW.head IS NOT head.id END
                THEN 'moved ' || coalesce(hex(head.id), iif(held.deleted, 'deleted', 'nothing'))
            WHEN CASE WHEN NEW.root_head IS NOT NULL THEN NEW.root_head IS NOT root.id
                      WHEN NEW.root_epoch IS NOT NULL
                      THEN root.id IS NOT NULL OR NEW.root_epoch <> coalesce(held.epoch + held.deleted, 0) END
                THEN 'moved ' || coalesce(hex(root.id), iif(held.deleted, 'deleted', 'nothing'))
            WHEN NEW.first_seq <= head.seq THEN 'position ' || head.seq
            WHEN unasked.path IS NOT NULL THEN 'unasked ' || unasked.path
        END AS refusal
        FROM (SELECT 1)
        LEFT JOIN superstep_thread AS held ON held.tenant = NEW.tenant AND held.thread = NEW.thread
        LEFT JOIN (
            SELECT id, seq FROM superstep_checkpoint
            WHERE tenant = NEW.tenant AND thread = NEW.thread AND namespace = NEW.namespace
            ORDER BY seq DESC LIMIT 1
        ) AS head
        LEFT JOIN (
            SELECT id FROM superstep_checkpoint
            WHERE tenant = NEW.tenant AND thread = NEW.thread AND namespace = ''
            ORDER BY seq DESC LIMIT 1
        ) AS root ON NEW.root_head IS NOT NULL OR NEW.root_epoch IS NOT NULL
        LEFT JOIN (
            SELECT value ->> 2 AS path FROM json_each(NEW.answers) WHERE EXISTS (
                SELECT 1 FROM superstep_checkpoint AS c JOIN superstep_write AS w USING (tenant, thread, namespace, seq)
                WHERE c.tenant = NEW.tenant AND c.thread = NEW.thread AND c.namespace = NEW.namespace
                  AND c.id = unhex(value ->> 0) AND w.task = unhex(value ->> 1) AND w.kind = 4 AND w.path = value ->> 2
            ) LIMIT 1
        ) AS answered
        LEFT JOIN (
            SELECT value ->> 2 AS path FROM json_each(NEW.answers) WHERE NOT value ->> 3 AND NOT EXISTS (
                SELECT 1 FROM superstep_checkpoint AS c JOIN superstep_write AS w USING (tenant, thread, namespace, seq)
                WHERE c.tenant = NEW.tenant AND c.thread = NEW.thread AND c.namespace = NEW.namespace
                  AND c.id = unhex(value ->> 0) AND w.task = unhex(value ->> 1) AND w.kind = 3 AND w.path = value ->> 2
            ) LIMIT 1
        ) AS unasked
    ) WHERE refusal IS NOT NULL;

    INSERT INTO superstep_thread
        (tenant, thread, epoch, owner, status, next, graph, deleted, created_at, updated_at)
    VALUES (NEW.tenant, NEW.thread, NEW.raises, NEW.owner, coalesce(NEW.status, 'ready'), coalesce(NEW.next, '[]'),
        coalesce(NEW.graph, ''), 0, NEW.now, NEW.now)
    ON CONFLICT (tenant, thread) DO UPDATE SET
        epoch = epoch + deleted + excluded.epoch,
        owner = iif(NEW.owns, excluded.owner, owner),
        status = coalesce(NEW.status, iif(deleted, 'ready', status)),
        next = coalesce(NEW.next, next),
        graph = coalesce(NEW.graph, graph),
        deleted = 0,
        updated_at = NEW.now;

    INSERT INTO superstep_checkpoint (tenant, thread, namespace, seq, id, branch, metadata, body, args)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, value ->> 0, unhex(value ->> 1), value ->> 2, value ->> 3,
        CAST(substr(NEW.bytes, value ->> 4, value ->> 5) AS TEXT), substr(NEW.bytes, value ->> 6, value ->> 7)
    FROM json_each(NEW.checkpoints);

    INSERT INTO superstep_value (tenant, thread, namespace, branch, channel, seq, kind, checkpoint, bytes)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, value ->> 0, value ->> 1, value ->> 2, value ->> 3,
        unhex(value ->> 4), substr(NEW.bytes, value ->> 5, value ->> 6)
    FROM json_each(NEW.parts);

    INSERT INTO superstep_write (tenant, thread, namespace, seq, task, kind, path, node, bytes)
    SELECT NEW.tenant, NEW.thread, NEW.namespace, c.seq, unhex(value ->> 1), value ->> 2, value ->> 3, value ->> 4,
        substr(NEW.bytes, value ->> 5, value ->> 6)
    FROM json_each(NEW.writes) CROSS JOIN superstep_checkpoint AS c
    WHERE c.tenant = NEW.tenant AND c.thread = NEW.thread AND c.namespace = NEW.namespace
      AND c.id = unhex(value ->> 0)
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
";

/// Applies a commit, or is refused by the trigger.
pub(crate) const COMMIT: &str = "INSERT INTO superstep_commit VALUES \
    (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)";

/// Deletes a thread and leaves its tombstone.
pub(crate) const DELETE: &str = "INSERT INTO superstep_delete VALUES (?1, ?2, ?3)";

macro_rules! key {
    ($table:literal) => {
        concat!($table, ".tenant = ?1 AND ", $table, ".thread = ?2 AND ", $table, ".namespace = ?3")
    };
}

/// The rows of the checkpoints in `$picked (seq, branch)`. All rows of a read have one shape, so that one statement, and so
/// one state of the file, gives all of them: what, at (the `seq` of the checkpoint it belongs to), four numbers, two
/// texts, an id, and bytes; see `row.rs`.
///
/// The channels of a branch are found one after the other by skipping over the parts of each (a loose index scan), and
/// a channel's parts from its last base on; so the cost grows with what is read and not with the thread.
macro_rules! read {
    ($picked:expr, $rows:expr) => {
        concat!(
            "WITH RECURSIVE picked (seq, branch) AS MATERIALIZED (",
            $picked,
            "),
            channel (branch, name) AS (
                SELECT branch, (
                    SELECT channel FROM superstep_value AS v WHERE ",
            key!("v"),
            " AND v.branch = p.branch
                    ORDER BY channel LIMIT 1
                ) FROM (SELECT DISTINCT branch FROM picked) AS p
                UNION ALL
                SELECT branch, (
                    SELECT channel FROM superstep_value AS v WHERE ",
            key!("v"),
            " AND v.branch = c.branch
                        AND v.channel > c.name
                    ORDER BY channel LIMIT 1
                ) FROM channel AS c WHERE name IS NOT NULL
            ),
            start (seq, branch, name, base) AS (
                SELECT p.seq, p.branch, c.name, coalesce((
                    SELECT seq FROM superstep_value AS v WHERE ",
            key!("v"),
            " AND v.branch = p.branch
                        AND v.channel = c.name AND v.seq <= p.seq AND v.kind <> 2
                    ORDER BY seq DESC LIMIT 1
                ), 0)
                FROM picked AS p CROSS JOIN channel AS c WHERE c.branch = p.branch AND c.name IS NOT NULL
            )
            ",
            $rows,
            "
            SELECT 2, c.seq, 0, 0, 0, 0, c.body, NULL, NULL, c.args
            FROM picked CROSS JOIN superstep_checkpoint AS c WHERE ",
            key!("c"),
            " AND c.seq = picked.seq
            UNION ALL
            SELECT 3, s.seq, v.seq, v.kind, 0, 0, v.channel, NULL, v.checkpoint, v.bytes
            FROM start AS s CROSS JOIN superstep_value AS v WHERE ",
            key!("v"),
            " AND v.branch = s.branch
                AND v.channel = s.name AND v.seq BETWEEN s.base AND s.seq AND v.kind <> 3
            UNION ALL
            SELECT 4, w.seq, w.kind, 0, 0, 0, w.path, w.node, w.task, w.bytes
            FROM picked CROSS JOIN superstep_write AS w WHERE ",
            key!("w"),
            " AND w.seq = picked.seq"
        )
    };
}

macro_rules! get {
    ($picked:expr) => {
        read!(
            $picked,
            concat!(
                "SELECT 0, 0, epoch, deleted, created_at, updated_at, status, graph, owner, next
                FROM superstep_thread WHERE tenant = ?1 AND thread = ?2
                UNION ALL
                SELECT 1, 0, seq, 0, 0, 0, NULL, NULL, id, NULL FROM (
                    SELECT seq, id FROM superstep_checkpoint AS c WHERE ",
                key!("c"),
                " ORDER BY seq DESC LIMIT 1
                )
                UNION ALL"
            )
        )
    };
}

/// Reads the head.
pub(crate) const GET_HEAD: &str =
    get!(concat!("SELECT seq, branch FROM superstep_checkpoint AS c WHERE ", key!("c"), " ORDER BY seq DESC LIMIT 1"));

/// Reads the checkpoint of id `?4`.
pub(crate) const GET_ID: &str =
    get!(concat!("SELECT seq, branch FROM superstep_checkpoint AS c WHERE ", key!("c"), " AND c.id = ?4"));

/// Reads the newest checkpoint with a question of path `?4`.
pub(crate) const GET_QUESTION: &str = get!(concat!(
    "SELECT seq, branch FROM superstep_checkpoint AS c WHERE ",
    key!("c"),
    " AND c.seq = (
        SELECT max(w.seq) FROM superstep_write AS w WHERE ",
    key!("w"),
    " AND w.path = ?4 AND w.kind = 3
    )"
));

/// Lists at most `?4` checkpoints (-1: all), older than `?5` unless that is null, with all metadata entries of the JSON
/// object `?6` unless that is null.
pub(crate) const LIST: &str = read!(
    concat!(
        "SELECT seq, branch FROM superstep_checkpoint AS c WHERE ",
        key!("c"),
        "
            AND c.seq < CASE WHEN ?5 IS NULL THEN 9223372036854775807 ELSE (
                SELECT b.seq FROM superstep_checkpoint AS b WHERE ",
        key!("b"),
        " AND b.id = ?5
            ) END
            AND (?6 IS NULL OR NOT EXISTS (
                SELECT 1 FROM json_each(?6) AS wanted WHERE NOT EXISTS (
                    SELECT 1 FROM json_each(c.metadata) AS found WHERE found.value = wanted.value
                )
            ))
        ORDER BY c.seq DESC LIMIT ?4"
    ),
    ""
);
